"""Who waits for whose end, so that no two wait for each other.

A task may close any lane, its own too. If `close` then waited for the task that called it, nothing would ever end; the
same holds for two tasks of two lanes that close each other's. So every wait of a task is an edge from its lane to the
lane it waits for, and an edge that would close a circle is not drawn: that `close` starts the closing and returns.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_awaited_by: dict[object, list[object]] = {}


@contextmanager
def awaiting(lane: object, own: object | None) -> Iterator[bool]:
    """Whether a task of the lane `own` may wait for the end of `lane`; outside of tasks (None) one always may."""
    if own is None:
        yield True
        return
    with _lock:
        allowed = not _reaches(lane, own)
        if allowed:
            _awaited_by.setdefault(own, []).append(lane)
    try:
        yield allowed
    finally:
        if allowed:
            with _lock:
                _awaited_by[own].remove(lane)
                if not _awaited_by[own]:
                    del _awaited_by[own]


def _reaches(start: object, goal: object) -> bool:
    seen: list[object] = [start]
    for lane in seen:  # grows while it is walked
        if lane is goal:
            return True
        seen.extend(further for further in _awaited_by.get(lane, ()) if further not in seen)
    return False
