"""Worker processes that are started while the first stage of a run still looks for its items.

A process loads modules for longer than it takes to process many a change. Whether there is a change is known as soon as
the first changed file is seen, long before the plan is made. So a plan announces that there will be work, and a run of
several stages starts a process then. Nothing depends on it: a stage that finds no process starts one.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

_SWITCH_S = 0.0005
"""How long an import may keep other threads from running. Results pass through several of them."""
StartAhead = Callable[[str, Callable[[], bool]], None]
"""Called with the name of a stage that announces work, and a function that tells whether it is certain: a file whose
stat has changed may have the content that it had."""
_start: ContextVar[StartAhead | None] = ContextVar("start", default=None)


@contextmanager
def expect_work(start: StartAhead) -> Iterator[None]:
    """Call `start` for each stage that announces work in this block."""
    token = _start.set(start)
    try:
        yield
    finally:
        _start.reset(token)


def announce_work(stage: str, is_certain: Callable[[], bool]) -> None:
    """Announce that the workers of a stage will have something to do. `is_certain` may read a file to find out."""
    start = _start.get()
    if start is not None:
        start(stage, is_certain)


class LoadedAhead:
    """What a process loads that is started early: the function of a stage, and modules which that imports with its
    first items."""

    def __init__(self, function: Callable[..., Any], modules: Sequence[str]) -> None:
        self.function = function
        self._modules = modules

    def __call__(self, task: Any) -> Any:
        """Call the function."""
        return self.function(task)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in self._modules:
            import_module(name)


class BackgroundImports:
    """Imports modules on a thread of its own, while this process waits for workers."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def start(self, modules: Sequence[str]) -> None:
        """Import these modules, unless others were asked for before. Errors are left to the import that needs them."""
        if self._thread is None and modules:
            self._thread = threading.Thread(target=import_all, args=(modules,), name="inorder-imports", daemon=True)
            self._thread.start()

    def join(self) -> None:
        """Wait for the modules."""
        if self._thread is not None:
            self._thread.join()


def import_all(modules: Sequence[str]) -> None:
    """Import modules, and let other threads run meanwhile. Errors are left to the import that needs them."""
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(min(interval_s, _SWITCH_S))
    try:
        for name in modules:
            import_module(name)
    except Exception:
        return
    finally:
        sys.setswitchinterval(interval_s)
