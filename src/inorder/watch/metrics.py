"""Metrics of watches for Prometheus."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from inorder.stage.monitor.prometheus import format_head, format_sample

from .status import WatchedRun, WatchStatus


class WatchFamily(NamedTuple):
    """One name: what kind of metric it is, and its value."""

    kind: str
    help: str
    read: Callable[[WatchStatus], float | None]
    """None: the value is not known yet."""


def _of_run(read: Callable[[WatchedRun], float]) -> Callable[[WatchStatus], float | None]:
    """A value of the last run."""
    return lambda watch: None if watch.last_run is None else read(watch.last_run)


WATCH_FAMILIES = {
    "inorder_watch_active": WatchFamily(
        "gauge", "1 if a process follows the changes of the sources, else 0.", lambda watch: int(watch.is_alive)
    ),
    "inorder_watch_failing": WatchFamily(
        "gauge",
        "1 if a run failed and is repeated, or a source is missing, else 0.",
        lambda watch: int(watch.state in ("waiting", "retrying")),
    ),
    "inorder_watch_pending_changes": WatchFamily(
        "gauge", "Changes that no run has processed yet.", lambda watch: watch.pending_changes
    ),
    "inorder_watch_runs_total": WatchFamily(
        "counter", "Runs of the watch that have ended.", _of_run(lambda run: run.number)
    ),
    "inorder_watch_start_time_seconds": WatchFamily(
        "gauge", "When the watch started, in seconds since 1970.", lambda watch: watch.since_ms / 1000
    ),
    "inorder_watch_last_change_time_seconds": WatchFamily(
        "gauge",
        "When a source changed last, in seconds since 1970.",
        lambda watch: None if watch.last_change_ms is None else watch.last_change_ms / 1000,
    ),
    "inorder_watch_last_run_end_time_seconds": WatchFamily(
        "gauge", "When the last run ended, in seconds since 1970.", _of_run(lambda run: run.ended_ms / 1000)
    ),
    "inorder_watch_last_run_seconds": WatchFamily(
        "gauge", "Duration of the last run.", _of_run(lambda run: run.duration_ms / 1000)
    ),
    "inorder_watch_last_run_exit_code": WatchFamily(
        "gauge", "Exit code of the last run, as of `inorder run`.", _of_run(lambda run: run.exit_code)
    ),
}
"""Every name, in the order of the output."""


def format_watches(watches: Sequence[tuple[str, WatchStatus]]) -> str:
    """The metrics of watches, each with the name of its DATA."""
    lines: list[str] = []
    for name, family in WATCH_FAMILIES.items():
        values = [(data, family.read(watch)) for data, watch in watches]
        samples = [format_sample(name, {"data": data}, value) for data, value in values if value is not None]
        if samples:
            lines += [*format_head(name, family.kind, family.help), *samples]
    return "".join(f"{line}\n" for line in lines)
