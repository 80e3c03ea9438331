"""What the thread of the monitor does: several duties, each at its own interval."""

import threading
from collections.abc import Callable, Sequence

_SLACK_S = 1e-6

Duty = tuple[float, Callable[[], None]]
"""The interval in seconds, and what to do."""


def run_periodically(is_ending: threading.Event, duties: Sequence[Duty], monotonic: Callable[[], float]) -> None:
    """Perform every duty at its interval until the event is set. A duty that was late is not repeated."""
    started_s = monotonic()
    due_s = [interval_s for interval_s, _ in duties]
    while not is_ending.wait(max(0.0, min(due_s) - (monotonic() - started_s))):
        elapsed_s = monotonic() - started_s
        for place, (interval_s, perform) in enumerate(duties):
            if elapsed_s >= due_s[place] - _SLACK_S:
                due_s[place] = elapsed_s + interval_s
                perform()
