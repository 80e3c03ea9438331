"""The metrics of runs in the text format of Prometheus: names, units and help lines.

Names follow the conventions of Prometheus: the prefix `inorder_`, base units (seconds, bytes), `_total` for counters.
Every series has the labels `data` and `stage`, and shows the latest run of that stage: counters start at 0 with every
run.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inorder.host.named_file import write_named
from inorder.host.spelling import spell

from .lane_metrics import LANE_FAMILIES, list_gauges, list_summaries
from .latest import LatestRun, read_latest_runs
from .metrics import METRICS

_WAIT_S = 1.0
"""For how long a run waits for whoever reads its metrics from a pipe."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricFamily(NamedTuple):
    """One name of the format: what kind of metric it is, and which fields of a snapshot it shows."""

    kind: str
    help: str
    fields: tuple[str, ...]
    """Metrics of the telemetry."""
    label: str = ""
    """The label that distinguishes the series of a run."""


def _make_family(kind: str, *fields: str, label: str = "", help_text: str = "") -> MetricFamily:
    """Make a family. Unless there is another text, its help line is the meaning of its metric in the telemetry."""
    meaning = METRICS[fields[0]][1].partition(";")[0].replace("`", "") if not help_text else ""
    return MetricFamily(kind, help_text or f"{meaning[0].upper()}{meaning[1:]}.", fields, label)


FAMILIES = {
    "inorder_plan_items": _make_family("gauge", "items_total"),
    "inorder_items_total": _make_family(
        "counter",
        "items_succeeded",
        "items_skipped",
        "items_failed",
        label="status",
        help_text="Items with an outcome, those before an interruption included.",
    ),
    "inorder_items_adopted_total": _make_family("counter", "items_adopted"),
    "inorder_failures_total": _make_family("counter", "errors", label="category"),
    "inorder_input_bytes_total": _make_family("counter", "input_bytes"),
    "inorder_output_bytes_total": _make_family("counter", "output_bytes"),
    "inorder_measures_total": _make_family("counter", "measures", label="name"),
    "inorder_group_items_total": _make_family(
        "counter", "groups", label="group", help_text="Items that succeeded, by batch key."
    ),
    "inorder_retries_total": _make_family("counter", "retries"),
    "inorder_reclaims_total": _make_family("counter", "reclaims"),
    "inorder_refused_results_total": _make_family("counter", "refused"),
    "inorder_lost_workers_total": _make_family("counter", "lost_workers"),
    "inorder_overruns_total": _make_family("counter", "overruns"),
    "inorder_invariant_violations_total": _make_family("counter", "invariant_violations"),
    "inorder_items_per_second": _make_family("gauge", "items_per_s"),
    "inorder_input_bytes_per_second": _make_family("gauge", "bytes_per_s"),
    "inorder_lines_per_second": _make_family("gauge", "lines_per_s"),
    "inorder_pages_per_second": _make_family("gauge", "pages_per_s"),
    "inorder_workers": _make_family("gauge", "workers"),
    "inorder_active_workers": _make_family("gauge", "active_workers"),
    "inorder_in_flight_items": _make_family("gauge", "in_flight"),
    "inorder_queued_items": _make_family("gauge", "queue_depth"),
    "inorder_pending_results": _make_family("gauge", "pending_results"),
    "inorder_buffered_bytes": _make_family("gauge", "buffered_bytes"),
    "inorder_commit_lag_items": _make_family("gauge", "commit_lag"),
    "inorder_terminal_lag_items": _make_family("gauge", "terminal_lag"),
    "inorder_next_commit_seq": _make_family("gauge", "next_commit_seq"),
    "inorder_max_seen_seq": _make_family("gauge", "max_seen_seq"),
    "inorder_oldest_blocked_seq": _make_family("gauge", "oldest_blocked_seq"),
    "inorder_windows": _make_family("gauge", "windows", help_text="Active windows."),
    "inorder_resident_memory_bytes": _make_family("gauge", "resident_bytes"),
    "inorder_gpu_memory_bytes": _make_family("gauge", "gpu_memory_bytes"),
    "inorder_item_queue_seconds": _make_family("summary", "item_queue_ms"),
    "inorder_item_start_seconds": _make_family("summary", "item_start_ms"),
    "inorder_item_exec_seconds": _make_family("summary", "item_exec_ms"),
    "inorder_item_wait_seconds": _make_family("summary", "item_wait_ms"),
    "inorder_commit_seconds": _make_family("summary", "commit_ms"),
    "inorder_run_info": _make_family("gauge", help_text="1, with the run and its state as labels."),
    "inorder_run_active": _make_family("gauge", help_text="1 if the run is under way, else 0."),
    "inorder_run_successful": _make_family(
        "gauge", help_text="1 if the run came to its end and no item failed, else 0."
    ),
    "inorder_run_start_time_seconds": _make_family("gauge", help_text="When the run started, in seconds since 1970."),
    "inorder_run_update_time_seconds": _make_family(
        "gauge", help_text="When values were recorded, in seconds since 1970."
    ),
    "inorder_run_end_time_seconds": _make_family("gauge", help_text="When the run ended, in seconds since 1970."),
}
"""Every name, in the order of the output."""
_QUANTILES = {"p50": "0.5", "p95": "0.95", "p99": "0.99", "max": "1"}
_HIDDEN = ".inorder"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})

Labels = dict[str, str]


def format_metrics(runs: Sequence[tuple[str, LatestRun]]) -> str:
    """The latest runs, each with the name of its DATA."""
    lines: list[str] = []
    for name, family in FAMILIES.items():
        samples = [line for data, run in runs for line in _list_samples(name, family, data, run)]
        if samples:
            lines += [*format_head(name, family.kind, family.help), *samples]
    for name, (kind, help_text) in LANE_FAMILIES.items():
        samples = [line for data, run in runs for line in _list_lane_samples(name, kind, data, run)]
        if samples:
            lines += [*format_head(name, kind, help_text), *samples]
    return "".join(f"{line}\n" for line in lines)


def name_data(path: str) -> str:
    """The name of DATA in labels: that of the directory or, for `.inorder`, of the one above it."""
    base = os.path.basename(path)
    return (os.path.basename(os.path.dirname(path)) if base == _HIDDEN else base) or "data"


def write_metrics_file(path: str | os.PathLike[str], data: str, telemetry_dir: str | os.PathLike[str] | None) -> None:
    """Write the metrics of all stages of DATA to a file, for the textfile collector of the node exporter. The file is
    replaced atomically. A write error is ignored, as for all telemetry: the run does not depend on it."""
    runs = [(name_data(data), run) for run in read_latest_runs(data, telemetry_dir)]
    with contextlib.suppress(OSError):
        write_named(path, format_metrics(runs).encode(), wait_s=_WAIT_S)


def format_head(name: str, kind: str, help_text: str) -> list[str]:
    """The lines before the samples of a name."""
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def format_sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """One line. Backslashes, quotes and line breaks in labels are escaped, and names that are not UTF-8 spelled."""
    inside = ",".join(f'{label}="{spell(text).translate(_ESCAPES)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value}"


def _list_samples(name: str, family: MetricFamily, data: str, run: LatestRun) -> Iterator[str]:
    labels = {"data": data, "stage": run.stage}
    if not family.fields:
        yield from _list_run_samples(name, labels, run)
        return
    for field in family.fields:
        value = run.snapshot.get(field)
        if family.kind == "summary":
            yield from _list_summary(name, labels, value or {})
        elif family.label:
            for key, number in _split_by_label(field, value):
                yield format_sample(name, labels | {family.label: key}, number)
        elif isinstance(value, list):
            yield format_sample(name, labels, len(value))
        elif value is not None:
            yield format_sample(name, labels, value)


def _list_lane_samples(name: str, kind: str, data: str, run: LatestRun) -> Iterator[str]:
    labels = {"data": data, "stage": run.stage}
    lanes = run.snapshot.get("lanes") or {}
    if kind == "summary":
        for lane, durations in list_summaries(name, lanes):
            yield from _list_summary(name, labels | {"lane": lane}, durations)
    else:
        for more, value in list_gauges(name, lanes):
            yield format_sample(name, labels | more, value)


def _list_run_samples(name: str, labels: Labels, run: LatestRun) -> Iterator[str]:
    match name.removeprefix("inorder_run_"):
        case "info":
            yield format_sample(name, labels | {"run_id": run.run_id, "state": run.state}, 1)
        case "active":
            yield format_sample(name, labels, int(run.state == "running"))
        case "successful":
            yield format_sample(name, labels, int(run.is_successful))
        case "start_time_seconds":
            yield format_sample(name, labels, run.started_ms / 1000)
        case "update_time_seconds":
            yield format_sample(name, labels, run.updated_ms / 1000)
        case "end_time_seconds" if run.ended_ms is not None:
            yield format_sample(name, labels, run.ended_ms / 1000)


def _split_by_label(field: str, value: Any) -> Iterable[tuple[str, float]]:
    if field == "groups":
        return [(key, sums["items"]) for key, sums in (value or {}).items()]
    if isinstance(value, dict):
        return value.items()
    return [] if value is None else [(field.removeprefix("items_"), value)]


def _list_summary(name: str, labels: Labels, histogram: Mapping[str, float]) -> Iterator[str]:
    if not histogram.get("count"):
        return
    for field, quantile in _QUANTILES.items():
        if field in histogram:
            yield format_sample(name, labels | {"quantile": quantile}, round(histogram[field] / 1000, 9))
    if "sum" in histogram:
        yield format_sample(f"{name}_sum", labels, round(histogram["sum"] / 1000, 9))
    yield format_sample(f"{name}_count", labels, histogram["count"])
