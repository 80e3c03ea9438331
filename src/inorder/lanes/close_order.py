"""Prevents deadlocks between tasks that close lanes: no two of them wait for each other.

A task may close any lane, its own included. If `close` waited for the task that called it, neither would ever end. The
same holds for two tasks of two lanes that close each other's lane. So each wait of a task is an edge from its lane to
the lane it waits for. A wait that would complete a cycle is refused: that `close` refuses new submissions and returns.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_waits_for: dict[object, list[object]] = {}


@contextmanager
def register_wait(lane: object, own: object | None) -> Iterator[bool]:
    """Register that a task of the lane `own` waits for the end of `lane`. `own` is None outside of tasks.

    Yields False when the wait would never end; the caller must not wait then.
    """
    if own is None:
        yield True
        return
    with _lock:
        allowed = not _has_path(lane, own)
        if allowed:
            _waits_for.setdefault(own, []).append(lane)
    try:
        yield allowed
    finally:
        if allowed:
            with _lock:
                _waits_for[own].remove(lane)
                if not _waits_for[own]:
                    del _waits_for[own]


def _has_path(start: object, goal: object) -> bool:
    reached: list[object] = [start]
    for lane in reached:  # the list grows during the loop
        if lane is goal:
            return True
        reached.extend(following for following in _waits_for.get(lane, ()) if following not in reached)
    return False
