"""The values of two runs beside each other."""

from collections.abc import Iterator

import msgspec

from .comparison import Delta
from .model import DurationStats, RunReport


def list_deltas(before: RunReport, after: RunReport) -> list[Delta]:
    """The values of two runs."""
    counts = _list_counts(before)
    pairs: list[tuple[str, str, float | None, float | None]] = [
        *((name, "", counts.get(name), count) for name, count in _list_counts(after).items()),
        ("items per second" if not after.is_pass else "files per second", "/s", before.items_per_s, after.items_per_s),
        ("active time", "ms", before.active_ms, after.active_ms),
        ("input read", "bytes", before.input_bytes, after.input_bytes),
        ("retries", "", before.mark_counts.get("retry", 0), after.mark_counts.get("retry", 0)),
        ("lost workers", "", before.mark_counts.get("lost", 0), after.mark_counts.get("lost", 0)),
    ]
    found = [Delta(name=name, unit=unit, before=first, after=second) for name, unit, first, second in pairs]
    for stats in after.durations:
        earlier = next((each for each in before.durations if each.name == stats.name), None)
        if earlier is not None and (earlier.count or stats.count):
            found += _compare_durations(earlier, stats)
    return found


def _list_counts(run: RunReport) -> dict[str, int | None]:
    """The files of a run of the pipeline, or the items of a stage."""
    if run.files is not None:
        return {name.replace("_", " "): count for name, count in msgspec.to_builtins(run.files.counts).items()}
    counts = run.counts
    return {"items": counts.total, "done": counts.succeeded, "skipped": counts.skipped, "failed": counts.failed}


def _compare_durations(before: DurationStats, after: DurationStats) -> Iterator[Delta]:
    yield Delta(name=f"{after.title.lower()} time, median", unit="ms", before=before.p50_ms, after=after.p50_ms)
    yield Delta(name=f"{after.title.lower()} time, 95 %", unit="ms", before=before.p95_ms, after=after.p95_ms)
