"""The engine room: how the workers of a run computed and committed. Folded until somebody opens it."""

from collections.abc import Sequence

from inorder.pipeline.outcome import describe_model
from inorder.report.model import RunReport
from inorder.report.verdict import format_duration, format_time

from .charts import (
    MARK_SIGNS,
    SPAN_NAMES,
    draw_buffered,
    draw_fronts,
    draw_heat_map,
    draw_histogram,
    draw_lag,
    draw_workers,
)
from .lists import make_slowest
from .tables import describe_cut, make_table
from .text import escape_text, format_bytes, format_count, format_plural, format_rate, isolate


def make_engine_room(runs: Sequence[RunReport]) -> str:
    """What was measured of the runs; empty: nothing was, because they had nothing to do."""
    shown = "".join(_make_run(run) for run in runs if _has_done_something(run))
    if not shown:
        return ""
    return (
        '<section id="engine" aria-label="Engine room"><details><summary><h2>Engine room</h2> '
        "<span>how workers computed and committed, and what took longest</span></summary>"
        f"{shown}</details></section>"
    )


def _has_done_something(run: RunReport) -> bool:
    return bool(run.slowest or run.counts.done or run.state != "finished")


def _make_run(run: RunReport) -> str:
    facts = [f"run {run.run_id}", f"started {format_time(run.started_ms)}"]
    facts += [f"{len(run.parts) - 1} times resumed"] if len(run.parts) > 1 else []
    facts += [text for text in (run.host, f"inorder {run.version}" if run.version else "", run.policy) if text]
    facts += [f"pages: {pages}"] if run.files is not None and (pages := describe_model(run.files.model)) else []
    facts += [f"{format_plural(run.damaged_lines, 'damaged line')} left out"] if run.damaged_lines else []
    command = f'<p class="facts"><code>{escape_text(run.command)}</code></p>' if run.command else ""
    return (
        f'<div id="engine-{run.run_id}"><h3 class="run-name">{escape_text(run.stage)}</h3><p class="facts">'
        f"{escape_text(run.state_text)} · {' · '.join(map(escape_text, facts))}</p>{command}{_make_tiles(run)}"
        f"{_make_compute(run)}{_make_workers(run)}</div>"
    )


def _make_tiles(run: RunReport) -> str:
    """Rates and workers."""
    noun = "files" if run.is_pass else "items"
    rate = f"{format_bytes(run.bytes_per_s)}/s of input" if run.bytes_per_s else noun
    tiles = [
        ("Rate", f"{format_rate(run.items_per_s)} /s", rate),
    ]
    lost = format_plural(run.mark_counts.get("lost", 0), "worker")
    requests = f"{format_plural(run.requests_retried, 'request')} retried, " if run.requests_retried else ""
    tiles.append(("Retries", format_count(run.mark_counts.get("retry", 0)), f"{requests}{lost} lost"))
    utilisation = run.worker_timeline.utilisation_percent
    if utilisation is not None:
        tiles.append(("Busy", f"{utilisation:.0f} %", format_plural(run.worker_timeline.total, "worker")))
    if run.counts.adopted:
        tiles.append(("Adopted", format_count(run.counts.adopted), "results of the interrupted run"))
    return make_tiles(tiles)


def make_tiles(tiles: Sequence[tuple[str, str, str]]) -> str:
    """Figures side by side: name, value and note of each."""
    cells = "".join(
        f"<div><dt>{escape_text(name)}</dt><dd>{escape_text(value)}</dd>"
        f"{f'<dd class=small>{escape_text(note)}</dd>' if note else ''}</div>"
        for name, value, note in tiles
    )
    return f'<dl class="tiles">{cells}</dl>'


def _make_compute(run: RunReport) -> str:
    """Compute and commit."""
    if not run.series.at_ms:
        return '<p class="note">Nothing was measured.</p>'
    legend = [("computed", "computed"), ("committed", "committed"), ("gap", "computed, waiting to be committed")]
    if run.windows:
        legend.append(("window-0", "windows"))
    kinds = {span.kind for span in run.spans}
    legend += [(f"span-{kind}", name) for kind, name in SPAN_NAMES.items() if kind in kinds]
    lag_most = max(a - b for a, b in zip(run.series.computed, run.series.committed, strict=True))
    charts = _make_figure("Items over time", draw_fronts(run), legend, _make_marks(run))
    charts += _make_figure("Commit lag", draw_lag(run), [("lag", f"items computed ahead, at most {lag_most:,}")])
    buffered = f"results that wait, at most {format_bytes(max(run.series.buffered_bytes))}"
    charts += _make_figure("Buffered bytes", draw_buffered(run), [("buffered", buffered)])
    if run.heat_map.cells:
        note = "<p class='note'>Each cell: how many items of one part of the plan were computed in one interval. "
        note += "A gap to the left of a row of cells is an item that came late.</p>"
        drawn = draw_heat_map(run.heat_map, run.active_ms, run.stage)
        charts += _make_figure("Seq by time", drawn, [("heat-1", "few items"), ("heat-5", "many")], note)
    return f'<div class="card"><h3>Compute and commit</h3>{charts}{_make_spans(run)}</div>'


def _make_figure(title: str, plot: str, legend: list[tuple[str, str]], below: str = "") -> str:
    keys = "".join(f'<li><span class="key {css}"></span>{escape_text(text)}</li>' for css, text in legend)
    return (
        f'<figure><figcaption>{escape_text(title)}</figcaption><ul class="legend">{keys}</ul>{plot}'
        f'<p class="readout" aria-live="polite"></p>{below}</figure>'
    )


def _make_marks(run: RunReport) -> str:
    """The legend of marks, with the numbers of all of them."""
    items = []
    for kind, total in run.mark_counts.items():
        name, shape = MARK_SIGNS[kind]
        shown = sum(mark.kind == kind for mark in run.marks)
        sign = f'<svg class="mark mark-{kind}" width="14" height="12" viewBox="-7 -1 14 12" aria-hidden="true">'
        items.append(
            f'<li>{sign}<path class="sign" d="{shape}"/></svg>{escape_text(name)}: {format_count(total)}'
            f"{describe_cut(shown, total)}</li>"
        )
    return f'<ul class="legend">{"".join(items)}</ul>' if items else ""


def _make_spans(run: RunReport) -> str:
    """Why and how long the run was slowed down, paused or stalled."""
    if not run.spans:
        return ""
    longest = sorted(run.spans, key=lambda span: span.from_ms - span.to_ms)
    rows = [[span.kind, format_duration(span.to_ms - span.from_ms), isolate(span.reason)] for span in longest]
    heads = [("State", ""), ("For", "number"), ("Why", "")]
    return make_table("Slowed down, paused, stalled", heads, rows, run.spans_total)


def _make_workers(run: RunReport) -> str:
    """Workers and durations."""
    timeline = run.worker_timeline
    strips = "".join(
        f'<div class="worker"><span>{escape_text(name)}</span>{strip}</div>'
        for name, strip in draw_workers(timeline, run.active_ms)
    )
    legend = "".join(
        f'<li><span class="key {css}"></span>{name}</li>'
        for css, name in (("busy-5", "busy"), ("idle", "idle"), ("starting", "starting"))
    )
    cut = describe_cut(len(timeline.rows), timeline.total)
    drawn = f'<ul class="legend">{legend}</ul><div class="workers">{strips}</div>' if strips else ""
    histograms = "".join(
        f"<figure><figcaption>{escape_text(stats.title)}</figcaption>{draw_histogram(stats)}"
        f'<p class="note">{escape_text(stats.meaning)}</p>'
        f'<p class="quantiles">median {format_duration(stats.p50_ms)} · '
        f"95 % {format_duration(stats.p95_ms)} · most {format_duration(stats.max_ms)}</p></figure>"
        for stats in run.durations
        if stats.buckets
    )
    return (
        f'<div class="card"><h3>Workers{cut}</h3>{drawn}<div class="histograms">{histograms}</div>'
        f"{make_slowest(run)}</div>"
    )
