"""Changes to a cluster while the main thread runs items on it."""

import _thread
import threading
from collections.abc import Callable
from types import TracebackType


class Meanwhile:
    """Runs a function on a thread during a `with` block. An exception of the function ends the block and is raised."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._error: BaseException | None = None
        self._is_inside = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_inside = False
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._function()
        except BaseException as error:
            self._error = error
            if self._is_inside:
                _thread.interrupt_main()
