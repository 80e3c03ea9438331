"""Opens the providers of a stage where they belong: cheap ones in every worker, all others in a process of their own.

engine  policy      providers that need a GPU, a model or a server
local   cpu, gpu    in the process of the providers, which all worker processes call
local   io          in the driver, shared by its threads
ray     any         in every worker, which has its own GPU
"""

import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from inorder.documents.embed.providers.registry import open_dense, open_sparse, policy
from inorder.documents.embed.providers.server.limits import ServerLimits
from inorder.documents.embed.worker import OPEN_ERROR
from inorder.engines.base import count_callers
from inorder.errors import OperatorError
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageOutcome

_IMPORTED_AHEAD = ("inorder.documents.embed.storage", "inorder.documents.embed.term_statistics")
"""What the last item of the stage needs, and takes half a second to import."""


class OpenProviders:
    """The providers of one stage. Sent to every worker process, without what is open in the driver."""

    def __init__(self, specs: Mapping[str, str], limits: ServerLimits) -> None:
        self._specs = specs
        self._limits = limits
        self.shared = tuple(family for family, spec in specs.items() if policy(spec) != "cpu")
        """Families whose provider is opened once for all workers of this machine."""
        self._address = ""
        self._open_now: list[Any] = []
        """What this process must close."""
        self._process: Any = None
        """The process of the providers; None: there is none."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open_now": [], "_process": None}

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

    def open_in_worker(self, context: StageContext) -> None:
        """Called once in every worker process."""
        shared = self.shared if self._address else ()
        self._open({family: spec for family, spec in self._specs.items() if family not in shared}, context)
        if shared:
            from .client import RemoteDense, RemoteSparse, ServiceConnection

            threading.Thread(target=import_ahead, name="inorder-imports", daemon=True).start()
            connection = ServiceConnection(self._address, count_callers(context.options.workers))
            for family in shared:
                context.resources[family] = (RemoteDense if family == "dense" else RemoteSparse)(connection, family)

    def close(self, outcome: StageOutcome) -> None:
        """Called after the stage: close what the driver has opened."""
        self._address = ""
        if self._process is not None:
            from .keeping import release_process

            process, self._process = self._process, None
            release_process(process, is_complete=outcome.stop_kind is None and not outcome.failed)
        while self._open_now:
            self._open_now.pop().close()

    def _open(self, specs: Mapping[str, str], context: StageContext) -> None:
        for family, spec in specs.items():
            try:
                provider = open_dense(spec, self._limits) if family == "dense" else open_sparse(spec)
            except OperatorError as error:
                context.resources[OPEN_ERROR] = str(error)
                continue
            context.resources[family] = provider
            self._open_now.append(provider)


def import_ahead() -> None:
    """Import modules while this process waits for a model or a server."""
    for name in _IMPORTED_AHEAD:
        import_module(name)
