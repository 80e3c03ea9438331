"""Metrics of lanes: those of the run itself, and those that hooks put into the resources of the stage."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inorder.lanes import Lane, LaneManager, LaneStatistics
from inorder.lanes.statistics import DurationStatistics

LANE_FAMILIES = {
    "inorder_lane_queued_tasks": ("gauge", "Accepted tasks that are queued."),
    "inorder_lane_running_tasks": ("gauge", "Tasks that run."),
    "inorder_lane_waiting_submissions": ("gauge", "Submissions that wait for a slot or a token."),
    "inorder_lane_concurrency": ("gauge", "Tasks that may run at once now."),
    "inorder_lane_submissions_total": ("counter", "Submissions, by outcome."),
    "inorder_lane_tasks_total": ("counter", "Accepted tasks that have ended, by how they did."),
    "inorder_lane_wait_seconds": ("summary", "Per task, from its submission to its start."),
    "inorder_lane_run_seconds": ("summary", "Per task, time that it ran."),
}
"""Every Prometheus name of lanes, with its type and help line."""
_GAUGES = {
    "inorder_lane_queued_tasks": "depth",
    "inorder_lane_running_tasks": "running",
    "inorder_lane_waiting_submissions": "waiting",
    "inorder_lane_concurrency": "concurrency",
}
_GROUPS = {
    "inorder_lane_submissions_total": ("outcome", ("accepted", "rejected", "redirected", "dropped")),
    "inorder_lane_tasks_total": ("state", ("completed", "failed", "cancelled")),
}
_SUMMARIES = {"inorder_lane_wait_seconds": "wait_ms", "inorder_lane_run_seconds": "run_ms"}
_COUNTS = (*_GAUGES.values(), *(name for _, names in _GROUPS.values() for name in names))

LaneSamples = Iterator[tuple[dict[str, str], float]]


def describe_lanes(lanes: Iterable[Lane], resources: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Describe these lanes and the lanes and lane managers among the resources, by name."""
    found = {lane.name: lane.statistics() for lane in lanes}
    for key, value in list(resources.items()):
        if isinstance(value, Lane):
            _add(found, key, value.name, value.statistics())
        elif isinstance(value, LaneManager):
            for name, statistics in value.statistics().items():
                _add(found, key, name, statistics)
    return {name: _describe(statistics) for name, statistics in found.items()}


def list_gauges(family: str, lanes: Mapping[str, Mapping[str, Any]]) -> LaneSamples:
    """List the samples of a gauge or counter of lanes: the labels and the value of each."""
    for lane, counts in lanes.items():
        if family in _GAUGES:
            yield {"lane": lane}, counts[_GAUGES[family]]
        else:
            label, names = _GROUPS[family]
            for name in names:
                yield {"lane": lane, label: name}, counts[name]


def list_summaries(family: str, lanes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """List the lanes of a summary, each with its durations in milliseconds."""
    for lane, counts in lanes.items():
        yield lane, counts[_SUMMARIES[family]]


def _add(found: dict[str, LaneStatistics], key: str, name: str, statistics: LaneStatistics) -> None:
    """Add a lane under its name, or with the name of its resource before it if another lane has that name."""
    found[f"{key}.{name}" if name in found else name] = statistics


def _describe(statistics: LaneStatistics) -> dict[str, Any]:
    counts: dict[str, Any] = {name: getattr(statistics, name) for name in _COUNTS}
    return counts | {"wait_ms": _summarize(statistics.wait_s), "run_ms": _summarize(statistics.run_s)}


def _summarize(durations: DurationStatistics) -> dict[str, float]:
    return {
        "count": durations.count,
        "sum": round(durations.total_s * 1000, 3),
        "p50": round(durations.p50_s * 1000, 3),
        "p95": round(durations.p95_s * 1000, 3),
        "max": round(durations.max_s * 1000, 3),
    }
