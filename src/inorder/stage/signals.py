"""SIGINT and SIGTERM: the first one cancels a run with grace, a second SIGINT cancels it at once."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
Cancel = Callable[[str, int | None], None]
"""Called with the reason and the grace in milliseconds; None: the grace of the options."""


@contextlib.contextmanager
def cancel_on_signals(cancel: Cancel) -> Iterator[list[int]]:
    """Call `cancel` for every signal that is received inside the block; yields the list of their numbers. A signal that
    the process was started to ignore, such as SIGINT in the background of a script, stays ignored. Outside of the main
    thread, where Python handles no signals, it does nothing."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        is_second = number == signal.SIGINT and received.count(number) > 1
        name = signal.Signals(number).name
        cancel(f"received {name} twice" if is_second else f"received {name}", 0 if is_second else None)

    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: not installed from Python
