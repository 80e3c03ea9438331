"""What a report leaves out, in words; and the values of two runs beside each other."""

from collections.abc import Iterator, Sequence

import msgspec

from .comparison import Comparison, Delta
from .model import DurationStats, RunReport


def list_limits(runs: Sequence[RunReport], comparison: Comparison | None) -> list[str]:
    """Every list that was cut, with the number of all its members."""
    found = [text for run in runs for text in _list_run_limits(run)]
    if comparison is not None and comparison.items_max is not None:
        found.append(f"comparison: of the first run, the first {comparison.items_max:,} items are compared")
    return found


def _list_run_limits(run: RunReport) -> Iterator[str]:
    processed = len(run.slowest) if run.is_pass else run.counts.succeeded + run.counts.failed
    shown = {
        "failed items": (len(run.failures.rows), run.failures.total),
        "reasons of failures": (len(run.failures.groups), run.failures.groups_total),
        "reasons of skipped items": (len(run.skips.rows), run.skips.distinct),
        "texts of warnings": (len(run.warnings.rows), run.warnings.distinct),
        "slowest items": (len(run.slowest), processed),
        "workers": (len(run.worker_timeline.rows), run.worker_timeline.total),
        "windows": (len(run.windows), run.windows_total),
        "pauses and stalls": (len(run.spans), run.spans_total),
        "points of the charts, made of measurements": (len(run.series.at_ms), run.series.seen),
    }
    for kind, total in run.mark_counts.items():
        shown[f"marks of kind {kind}"] = (sum(mark.kind == kind for mark in run.marks), total)
    for name, (count, total) in shown.items():
        if count < total:
            yield f"{run.stage}: {count:,} of {total:,} {name} shown"
    without = sum(not item.traceback for item in run.failures.rows)
    if without and without < len(run.failures.rows):
        yield f"{run.stage}: tracebacks of the first {len(run.failures.rows) - without:,} failed items"
    if run.damaged_lines:
        yield f"{run.stage}: {run.damaged_lines:,} damaged lines of the manifest or the telemetry are left out"


def list_deltas(before: RunReport, after: RunReport) -> list[Delta]:
    """The values of two runs."""
    pairs: list[tuple[str, str, float | None, float | None]] = []
    if before.files is not None and after.files is not None:
        earlier, later = (msgspec.to_builtins(run.files.counts) for run in (before, after) if run.files is not None)
        pairs += [(name.replace("_", " "), "", earlier[name], later[name]) for name in later]
    else:
        pairs += [
            ("items", "", before.counts.total, after.counts.total),
            ("done", "", before.counts.succeeded, after.counts.succeeded),
            ("skipped", "", before.counts.skipped, after.counts.skipped),
            ("failed", "", before.counts.failed, after.counts.failed),
        ]
    pairs += [
        ("items per second" if not after.is_pass else "files per second", "/s", before.items_per_s, after.items_per_s),
        ("active time", "ms", before.active_ms, after.active_ms),
        ("input read", "bytes", before.input_bytes, after.input_bytes),
        ("retries", "", before.mark_counts.get("retry", 0), after.mark_counts.get("retry", 0)),
        ("lost workers", "", before.mark_counts.get("lost", 0), after.mark_counts.get("lost", 0)),
    ]
    found = [
        Delta(name=name, unit=unit, before=_to_float(first), after=_to_float(second))
        for name, unit, first, second in pairs
    ]
    for stats in after.durations:
        earlier = next((each for each in before.durations if each.name == stats.name), None)
        if earlier is not None and (earlier.count or stats.count):
            found += _compare_durations(earlier, stats)
    return found


def _compare_durations(before: DurationStats, after: DurationStats) -> Iterator[Delta]:
    yield Delta(name=f"{after.title.lower()} time, median", unit="ms", before=before.p50_ms, after=after.p50_ms)
    yield Delta(name=f"{after.title.lower()} time, 95 %", unit="ms", before=before.p95_ms, after=after.p95_ms)


def _to_float(value: float | None) -> float | None:
    return None if value is None else float(value)
