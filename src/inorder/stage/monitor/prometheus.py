"""The metrics of runs in the text format of Prometheus: names, units and help lines.

Names follow the conventions of Prometheus: the prefix `inorder_`, base units (seconds, bytes), `_total` for counters.
Every series has the labels `data` and `stage`, and shows the latest run of that stage: counters start at 0 with every
run.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inorder.host.filesystem import SystemFilesystem, write_atomic

from .latest import LatestRun, read_latest_runs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricFamily(NamedTuple):
    """One name of the format: what kind of metric it is, and which fields of a snapshot it shows."""

    kind: str
    help: str
    fields: tuple[str, ...]
    """Metrics of the telemetry."""
    label: str = ""
    """The label that distinguishes the series of a run."""


FAMILIES = {
    "inorder_plan_items": MetricFamily("gauge", "Items of the plan.", ("items_total",)),
    "inorder_items_total": MetricFamily(
        "counter",
        "Items with an outcome, those before an interruption included.",
        ("items_succeeded", "items_skipped", "items_failed"),
        "status",
    ),
    "inorder_items_adopted_total": MetricFamily(
        "counter", "Results of the interrupted run that were not computed again.", ("items_adopted",)
    ),
    "inorder_failures_total": MetricFamily("counter", "Items that failed for good.", ("errors",), "category"),
    "inorder_input_bytes_total": MetricFamily("counter", "Bytes of inputs of items that succeeded.", ("input_bytes",)),
    "inorder_output_bytes_total": MetricFamily("counter", "Bytes published.", ("output_bytes",)),
    "inorder_measures_total": MetricFamily(
        "counter", "Sums of the numbers that workers reported, in the unit of each.", ("measures",), "name"
    ),
    "inorder_group_items_total": MetricFamily("counter", "Items that succeeded, by batch key.", ("groups",), "group"),
    "inorder_retries_total": MetricFamily("counter", "Attempts that failed and were retried.", ("retries",)),
    "inorder_reclaims_total": MetricFamily(
        "counter", "Attempts that were reclaimed: worker lost, lease expired, or item returned.", ("reclaims",)
    ),
    "inorder_refused_results_total": MetricFamily(
        "counter", "Results of attempts that were no longer current, never applied.", ("refused",)
    ),
    "inorder_lost_workers_total": MetricFamily("counter", "Workers that ended, on purpose or not.", ("lost_workers",)),
    "inorder_overruns_total": MetricFamily("counter", "Attempts that exceeded their time limit.", ("overruns",)),
    "inorder_invariant_violations_total": MetricFamily("counter", "Violated invariants.", ("invariant_violations",)),
    "inorder_items_per_second": MetricFamily(
        "gauge", "Items with an outcome per second, over the run so far.", ("items_per_s",)
    ),
    "inorder_input_bytes_per_second": MetricFamily(
        "gauge", "Bytes of inputs per second, over the run so far.", ("bytes_per_s",)
    ),
    "inorder_lines_per_second": MetricFamily("gauge", "Lines per second, over the run so far.", ("lines_per_s",)),
    "inorder_pages_per_second": MetricFamily("gauge", "Pages per second, over the run so far.", ("pages_per_s",)),
    "inorder_workers": MetricFamily("gauge", "Target number of workers.", ("workers",)),
    "inorder_active_workers": MetricFamily("gauge", "Workers that have something to do.", ("active_workers",)),
    "inorder_in_flight_items": MetricFamily("gauge", "Items dispatched or computed, and not settled.", ("in_flight",)),
    "inorder_queued_items": MetricFamily("gauge", "Items read from the plan and not dispatched.", ("queue_depth",)),
    "inorder_pending_results": MetricFamily(
        "gauge", "Results that wait for a lower seq, or to be committed.", ("pending_results",)
    ),
    "inorder_buffered_bytes": MetricFamily(
        "gauge", "Bytes of pending results, and the expected bytes of running items.", ("buffered_bytes",)
    ),
    "inorder_commit_lag_items": MetricFamily(
        "gauge", "Seqs from the cursor to the furthest computed one.", ("commit_lag",)
    ),
    "inorder_terminal_lag_items": MetricFamily(
        "gauge", "Seqs from the oldest one without a result to the furthest computed one.", ("terminal_lag",)
    ),
    "inorder_next_commit_seq": MetricFamily("gauge", "The cursor: the next seq to commit.", ("next_commit_seq",)),
    "inorder_max_seen_seq": MetricFamily("gauge", "The furthest computed seq.", ("max_seen_seq",)),
    "inorder_oldest_blocked_seq": MetricFamily("gauge", "The oldest seq without a result.", ("oldest_blocked_seq",)),
    "inorder_windows": MetricFamily("gauge", "Active windows.", ("windows",)),
    "inorder_resident_memory_bytes": MetricFamily(
        "gauge", "Resident memory of the run and its worker processes.", ("resident_bytes",)
    ),
    "inorder_gpu_memory_bytes": MetricFamily("gauge", "Bytes that torch has reserved on GPUs.", ("gpu_memory_bytes",)),
    "inorder_item_queue_seconds": MetricFamily(
        "summary", "Per item, from being read from the plan to its first dispatch.", ("item_queue_ms",)
    ),
    "inorder_item_start_seconds": MetricFamily(
        "summary", "Per item, from the dispatch of its final attempt to its start in the worker.", ("item_start_ms",)
    ),
    "inorder_item_exec_seconds": MetricFamily(
        "summary", "Per item, time of the final attempt in its worker.", ("item_exec_ms",)
    ),
    "inorder_item_wait_seconds": MetricFamily(
        "summary", "Per item, from its result to the start of its commit.", ("item_wait_ms",)
    ),
    "inorder_commit_seconds": MetricFamily("summary", "Per commit: journal, outputs, manifest.", ("commit_ms",)),
    "inorder_run_info": MetricFamily("gauge", "1, with the run and its state as labels.", ()),
    "inorder_run_active": MetricFamily("gauge", "1 if the run is under way, else 0.", ()),
    "inorder_run_successful": MetricFamily("gauge", "1 if the run came to its end and no item failed, else 0.", ()),
    "inorder_run_start_time_seconds": MetricFamily("gauge", "When the run started, in seconds since 1970.", ()),
    "inorder_run_update_time_seconds": MetricFamily("gauge", "When values were recorded, in seconds since 1970.", ()),
    "inorder_run_end_time_seconds": MetricFamily("gauge", "When the run ended, in seconds since 1970.", ()),
}
"""Every name, in the order of the output."""
NOT_NUMBERS = ("head", "oldest_blocked_state", "running", "waiting_for")
"""Metrics of the telemetry that the format cannot represent."""
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
        write_atomic(SystemFilesystem(), os.path.abspath(path), format_metrics(runs).encode())


def format_head(name: str, kind: str, help_text: str) -> list[str]:
    """The lines before the samples of a name."""
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def format_sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """One line. Backslashes, quotes and line breaks in labels are escaped."""
    inside = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
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
        yield format_sample(name, labels | {"quantile": quantile}, round(histogram[field] / 1000, 9))
    if "sum" in histogram:
        yield format_sample(f"{name}_sum", labels, round(histogram["sum"] / 1000, 9))
    yield format_sample(f"{name}_count", labels, histogram["count"])
