"""Opens the providers of a stage where they belong: cheap ones in every worker that has documents to embed, all others
in a process of their own.

engine  policy      providers that need a GPU, a model or a server
local   cpu, gpu    in the process of the providers, which all worker processes call
local   io          in the driver, shared by its threads
ray     any         in every worker, which has its own GPU
"""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from inorder.documents.embed.providers.registry import open_dense, open_sparse, policy
from inorder.documents.embed.providers.server.limits import ServerLimits
from inorder.documents.embed.worker import COUNTS, OPEN_ERROR, OPENER
from inorder.engines.base import count_callers
from inorder.errors import OperatorError
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageOutcome

if TYPE_CHECKING:
    from inorder.documents.embed.counting.process import CountingProcess

_IMPORTED_AHEAD = ("inorder.documents.embed.storage", "inorder.documents.embed.term_statistics")
"""What the last item of the stage needs, and takes half a second to import."""
_IMPORTED_WITH_COUNTS = ("inorder.documents.embed.counting.process",)
"""The same, if another process has counted."""


class OpenProviders:
    """The providers of one stage. Sent to every worker process, without what is open in the driver."""

    def __init__(
        self,
        specs: Mapping[str, str],
        limits: ServerLimits,
        families: Sequence[str] = (),
    ) -> None:
        self._specs = specs
        self._limits = limits
        self._families = families
        """All families of the stage, which are counted while a model or a server computes."""
        self.shared = tuple(family for family, spec in specs.items() if policy(spec) != "cpu")
        """Families whose provider is opened once for all workers of this machine."""
        self._address = ""
        self._open_now: list[Any] = []
        """What this process must close."""
        self._process: Any = None
        """The process of the providers; None: there is none."""
        self._counts_address = ""
        self._counting: CountingProcess | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open_now": [], "_process": None, "_counting": None}

    def open_in_driver(self, context: StageContext) -> None:
        """Called before the stage: prepare the process of the providers, or open all of them for the threads."""
        options = context.options
        if options.engine != "local":
            return
        if options.policy == "io":
            self._open(self._specs, context)
        elif self.shared:
            from .keeping import open_process

            self._address = "unavailable"  # should the next line fail, no worker opens a model of its own
            self._process = open_process({family: self._specs[family] for family in self.shared}, self._limits)
            self._address = self._process.address
            self._start_counting(os.path.abspath(options.data))

    def _start_counting(self, data: str) -> None:
        from inorder.documents.embed.counting import process

        if process.is_worth_counting(data):
            self._counting = process.CountingProcess(data, self._families)
            self._counts_address = self._counting.address

    def open_in_worker(self, context: StageContext) -> None:
        """Called once in every worker process. Cheap providers are opened with the first document: the process that
        computes the statistics of the corpus may have none."""
        shared = self.shared if self._address else ()
        self._open([family for family in self.shared if family not in shared], context)
        context.resources[OPENER] = partial(self._open_family, context)
        if shared:
            from .client import RemoteDense, RemoteSparse, ServiceConnection

            names = _IMPORTED_WITH_COUNTS if self._counts_address else _IMPORTED_AHEAD
            threading.Thread(target=import_ahead, args=(names,), name="inorder-imports", daemon=True).start()
            connection = ServiceConnection(self._address, count_callers(context.options.workers))
            context.resources[COUNTS] = self._counts_address
            for family in shared:
                context.resources[family] = (RemoteDense if family == "dense" else RemoteSparse)(connection, family)

    def end_embedding(self) -> None:
        """Called when all documents are embedded: the process of the providers ends while the corpus is summarized. One
        that was not started stays: a run that starts over may need it."""
        if self._process is not None and self._process.process_id is not None:
            from .keeping import stop_process

            stop_process(self._process)

    def close(self, outcome: StageOutcome) -> None:
        """Called after the stage: close what the driver has opened."""
        self._address = self._counts_address = ""
        if self._counting is not None:
            self._counting.close()
            self._counting = None
        if self._process is not None:
            from .keeping import release_process

            process, self._process = self._process, None
            release_process(process, is_complete=outcome.stop_kind is None and not outcome.failed)
        while self._open_now:
            self._open_now.pop().close()

    def _open(self, families: Iterable[str], context: StageContext) -> None:
        for family in families:
            self._open_family(context, family)

    def _open_family(self, context: StageContext, family: str) -> None:
        spec = self._specs[family]
        try:
            provider = open_dense(spec, self._limits) if family == "dense" else open_sparse(spec)
        except OperatorError as error:
            context.resources[OPEN_ERROR] = str(error)
            return
        context.resources[family] = provider
        self._open_now.append(provider)


def import_ahead(names: Sequence[str]) -> None:
    """Import modules while this process waits for a model or a server."""
    for name in names:
        import_module(name)
