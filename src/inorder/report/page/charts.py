"""The charts of a run."""

import math
from collections.abc import Iterable, Sequence

from inorder.report.model import DurationStats, HeatMap, RunReport, TimeSpan, WorkerTimeline
from inorder.report.verdict import format_duration

from .plot import SvgPlot
from .text import format_axis_time, format_bytes, format_count, format_plural

MARK_SIGNS = {
    "retry": ("Retry", "M0 1l5 9h-10z"),
    "lost": ("Lost worker", "M-5 1l10 9M5 1l-10 9"),
    "reclaim": ("Reclaimed item", "M-4 2h8v8h-8z"),
    "overrun": ("Time limit exceeded", "M-5 1h10l-10 9h10z"),
    "stopping": ("Stopping", "M0 0l5 5l-5 5l-5 -5z"),
    "killed": ("Killed", "M-6 5a6 6 0 1 0 12 0a6 6 0 1 0 -12 0M-3 2l6 6M3 2l-6 6"),
    "resumed": ("Resumed", "M-4 0l9 5l-9 5z"),
}
"""By kind of mark: its name, and its shape, so that colour is not needed to tell them apart."""
SPAN_NAMES = {
    "slowed": "slowed down",
    "paused": "paused",
    "stalled": "stalled",
}


def draw_fronts(run: RunReport) -> str:
    """Computed and committed seqs over time, with the gap between them, windows, pressure and marks."""
    series = run.series
    start = run.parts[0].resumed_at or 0
    committed = _make_points(series.at_ms, series.committed, start)
    computed = _make_points(series.at_ms, series.computed, start)
    most = max([run.counts.total or 0, *series.computed, *series.committed, 1])
    plot = SvgPlot(run.active_ms, most * 1.12, 250)
    for number, window in enumerate(run.windows):
        end_ms = run.active_ms if window.closed_ms is None else window.closed_ms
        end = window.end if window.end > window.start else most
        title = f"window {window.id}: seq {window.start:,} to {end - 1:,}"
        plot.add_box((window.opened_ms, end_ms), (window.start, end), f"window-{number % 2}", title)
    _add_spans(plot, run.spans)
    plot.add_area(computed, committed, "gap")
    plot.add_line(computed, "computed")
    plot.add_line(committed, "committed")
    if run.counts.total:
        plot.add_level(run.counts.total, "level-total", f"{format_count(run.counts.total)} items")
    for mark in run.marks:
        name, shape = MARK_SIGNS[mark.kind]
        plot.add_mark(mark.at_ms, f"mark-{mark.kind}", shape, f"{name} at {format_axis_time(mark.at_ms)}: {mark.text}")
    label = (
        f"Computed and committed items of {run.stage} over time: {format_count(run.committed)} committed after "
        f"{format_duration(run.active_ms)}."
    )
    return plot.render(f"{run.run_id}:fronts", label, lambda value: format_count(int(value)))


def draw_lag(run: RunReport) -> str:
    """How many items the commits are behind the workers."""
    series = run.series
    lag = [ahead - done for ahead, done in zip(series.computed, series.committed, strict=True)]
    plot = SvgPlot(run.active_ms, max([*lag, 1]) * 1.1, 120)
    points = _make_points(series.at_ms, lag)
    plot.add_area(points, [(x, 0.0) for x, _ in points], "lag-area")
    plot.add_line(points, "lag")
    label = f"Commit lag of {run.stage} over time: at most {format_plural(max([*lag, 0]), 'item')}."
    return plot.render(f"{run.run_id}:lag", label, lambda value: format_count(int(value)))


def draw_buffered(run: RunReport) -> str:
    """Bytes of results that wait."""
    most = max([*run.series.buffered_bytes, 1])
    plot = SvgPlot(run.active_ms, most * 1.15, 120)
    _add_spans(plot, (span for span in run.spans if span.kind != "stalled"))
    points = _make_points(run.series.at_ms, run.series.buffered_bytes)
    plot.add_area(points, [(x, 0.0) for x, _ in points], "buffered-area")
    plot.add_line(points, "buffered")
    label = f"Buffered bytes of {run.stage} over time: at most {format_bytes(most)}."
    return plot.render(f"{run.run_id}:buffered", label, format_bytes)


def draw_heat_map(heat_map: HeatMap, active_ms: int, stage: str) -> str:
    """Which part of the plan was computed when."""
    most = max((count for _, _, count in heat_map.cells), default=1)
    plot = SvgPlot(active_ms, heat_map.rows * heat_map.row_seqs, 200)
    for column, row, count in heat_map.cells:
        x, y = column * heat_map.column_ms, row * heat_map.row_seqs
        step = 1 + min(4, int(5 * math.log1p(count) / math.log1p(most + 1)))
        title = (
            f"{format_plural(count, 'item')} of seq {y:,} to {y + heat_map.row_seqs - 1:,}, "
            f"{format_axis_time(x)} to {format_axis_time(x + heat_map.column_ms)}"
        )
        plot.add_box((x, x + heat_map.column_ms), (y, y + heat_map.row_seqs), f"heat-{step}", title)
    label = f"When which items of {stage} were computed: seq upwards, time to the right."
    return plot.render("heat", label, lambda value: format_count(int(value)))


def draw_workers(timeline: WorkerTimeline, active_ms: int) -> list[tuple[str, str]]:
    """For each worker its name with figures, and a strip of how busy it was."""
    rows = []
    for worker in timeline.rows:
        plot = SvgPlot(active_ms, 1, 14)
        end_ms = active_ms if worker.lost_at_ms is None else worker.lost_at_ms
        if worker.first_ms > 0:
            title = f"worker {worker.worker} is starting until {format_axis_time(worker.first_ms)}"
            plot.add_box((0, worker.first_ms), (0, 1), "starting", title)
        plot.add_box((worker.first_ms, end_ms), (0, 1), "idle")
        for column, percent in enumerate(worker.busy_percent):
            if percent:
                x = column * timeline.column_ms
                title = f"{format_axis_time(x)}: {percent} % busy"
                plot.add_box((x, x + timeline.column_ms), (0, 1), f"busy-{1 + min(4, percent // 20)}", title)
        if worker.lost_at_ms is not None and worker.lost_cause != "retired":
            plot.add_mark(worker.lost_at_ms, "mark-lost", MARK_SIGNS["lost"][1], f"lost: {worker.lost_cause}")
        share = 100 * worker.busy_ms / max(1, end_ms - worker.first_ms)
        label = f"worker {worker.worker}: {format_plural(worker.items, 'item')}, busy {min(100, share):.0f} %"
        rows.append((label, plot.render("worker", label, time=False)))
    return rows


def draw_histogram(stats: DurationStats) -> str:
    """A histogram of durations."""
    plot = SvgPlot(len(stats.buckets), max(count for _, count in stats.buckets), 90)
    for place, (bound, count) in enumerate(stats.buckets):
        if count:
            title = f"up to {format_duration(bound)}: {format_plural(count, 'item')}"
            plot.add_box((place + 0.06, place + 0.94), (0, count), "bar", title)
    first, last = (format_duration(stats.buckets[place][0]) for place in (0, -1))
    label = f"{stats.title} time: median {format_duration(stats.p50_ms)}, 95 % {format_duration(stats.p95_ms)}."
    ends = f"<div class='ends'><span>up to {first}</span><span>{last}</span></div>"
    return plot.render("bars", label, time=False) + ends


def _make_points(times: Sequence[int], values: Sequence[int], start: int = 0) -> list[tuple[float, float]]:
    """Points that begin with the run, at this value."""
    points = [(float(x), float(y)) for x, y in zip(times, values, strict=True)]
    return [(0.0, float(start)), *points] if points and points[0][0] > 0 else points


def _add_spans(plot: SvgPlot, spans: Iterable[TimeSpan]) -> None:
    for span in spans:
        title = f"{SPAN_NAMES[span.kind]} for {format_duration(span.to_ms - span.from_ms)}: {span.reason}"
        plot.add_band(span.from_ms, span.to_ms, f"span-{span.kind}", title)
