"""Opens the process of the providers that need a GPU, a model or a server, and connects the worker processes to it.

engine  policy      where such a provider is
local   cpu, gpu    in the process of the providers, which all worker processes call
local   io          in the driver, shared by its threads
ray     any         in every worker, which has its own GPU

In the last two cases nothing is opened here: who computes vectors opens the provider with the first texts.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from inorder.documents.embed.providers.server.limits import ServerLimits
from inorder.engines.base import count_callers
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageOutcome

if TYPE_CHECKING:
    from .keeping import ProviderKeeper


class OpenProviders:
    """The providers of one stage. Sent to every worker process, without what is open in the driver."""

    def __init__(
        self,
        specs: Mapping[str, str],
        limits: ServerLimits,
        keeper: "ProviderKeeper | None" = None,
    ) -> None:
        """`keeper` has the process of an earlier run, and keeps that of this one."""
        self._keeper = keeper
        self._specs = specs
        self._limits = limits
        self._address = ""
        self._process: Any = None
        """The process of the providers; None: there is none."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": None, "_keeper": None}

    def open_in_driver(self, context: StageContext) -> None:
        """Called before the stage: prepare the process of the providers, if there is to be one."""
        if context.options.engine == "local" and context.options.policy != "io":
            from .keeping import ProviderKeeper

            self._address = "unavailable"  # should the next line fail, no worker opens a model of its own
            self._process = (self._keeper or ProviderKeeper()).open(self._specs, self._limits)
            self._address = self._process.address

    def open_in_worker(self, context: StageContext) -> None:
        """Called once in every worker process: connect it to the process of the providers, if there is one."""
        if self._address:
            from .client import RemoteDense, RemoteSparse, ServiceConnection

            connection = ServiceConnection(self._address, count_callers(context.options.workers))
            for family in self._specs:
                context.resources[family] = (RemoteDense if family == "dense" else RemoteSparse)(connection, family)

    def close(self, outcome: StageOutcome) -> None:
        """Called after the stage: end the process of the providers, or keep it."""
        self._address = ""
        process, self._process = self._process, None
        if process is not None and self._keeper is None:
            process.close()
        elif process is not None and self._keeper is not None:
            # one whose providers cannot be opened is not worth keeping
            self._keeper.release(process, keeps=outcome.stop_kind is None and not outcome.failed)
