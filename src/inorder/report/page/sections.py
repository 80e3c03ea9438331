"""The sections of a page."""

from inorder.report.model import FileReport, PipelineReport, RunReport
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
from .contents import make_contents
from .lists import make_failures, make_files, make_groups, make_slowest, make_tallies
from .tables import describe_cut, make_table
from .text import (
    escape_text,
    format_bytes,
    format_count,
    format_ms,
    format_plural,
    format_rate,
    isolate,
)

_STATE_SIGNS = {"running": "▶", "finished": "✓", "stopped": "■", "killed": "✕", "failed": "✕", "unknown": "?"}


def make_verdict_box(report: PipelineReport) -> str:
    """The first sentence, and the command to copy."""
    verdict = report.verdict
    command = ""
    if verdict.command:
        command = (
            f'<p class="next">{escape_text(verdict.next_step)}</p><div class="command"><code>'
            f'{escape_text(verdict.command)}</code><button type="button" class="copy" hidden>Copy</button></div>'
        )
    elif verdict.next_step:
        command = f'<p class="next">{escape_text(verdict.next_step)}</p>'
    return (
        f'<section class="verdict level-{verdict.level}" aria-label="Verdict"><p class="state">'
        f"{make_state(verdict.state)}</p><h1>{escape_text(verdict.sentence)}</h1>{command}</section>"
    )


def make_state(state: str) -> str:
    """The state of a run as a badge."""
    return f'<span class="badge state-{state}"><span aria-hidden="true">{_STATE_SIGNS[state]}</span> {state}</span>'


def make_navigation(report: PipelineReport) -> str:
    """Links to the sections."""
    has_twins = len({run.stage for run in report.runs}) < len(report.runs)
    links = [(f"run-{run.run_id}", f"{run.stage} {run.run_id[:8]}" if has_twins else run.stage) for run in report.runs]
    if report.comparison is not None:
        links.insert(0, ("comparison", "comparison"))
    if report.watch is not None:
        links.insert(0, ("watch", "watch"))
    if report.dataset is not None:
        links.append(("dataset", "dataset"))
    items = "".join(f'<a href="#{target}">{escape_text(name)}</a>' for target, name in links)
    return f'<nav aria-label="Sections">{items}</nav>'


def make_overview(report: PipelineReport) -> str:
    """All runs: one row for each."""
    has_stages = any(not run.is_pass for run in report.runs)
    rows = []
    for run in report.runs:
        counts = run.counts
        rows.append(
            [
                f'<a href="#run-{run.run_id}">{escape_text(run.stage)}</a>',
                make_state(run.state),
                _make_progress(run),
                format_count(counts.succeeded),
                *(["" if run.is_pass else format_count(counts.skipped)] if has_stages else []),
                f'<span class="{"bad" if counts.failed else ""}">{format_count(counts.failed)}</span>',
                "?" if counts.total is None else format_count(counts.total),
                format_rate(run.items_per_s),
                format_duration(run.active_ms),
            ]
        )
    noun = "Items" if has_stages else "Files to do"
    heads = [("Run", ""), ("State", ""), ("Progress", "wide"), ("Done", "number")]
    heads += [("Skipped", "number")] if has_stages else []
    heads += [("Failed", "number"), (noun, "number"), ("Per second", "number"), ("Time", "number")]
    table = make_table("Runs", heads, rows, is_paged=False)
    return f'<section aria-label="Runs"><div class="card">{table}</div></section>'


def _make_progress(run: RunReport) -> str:
    """A bar of outcomes."""
    counts = run.counts
    total = max(1, counts.total or counts.done)
    parts, place = [], 0.0
    for css, count in (("done", counts.succeeded), ("skipped", counts.skipped), ("failed", counts.failed)):
        width = 100 * count / total
        parts.append(f'<rect class="{css}" x="{place:.2f}%" width="{width:.2f}%" height="10"/>')
        place += width
    skipped = "" if run.is_pass else f"{counts.skipped} skipped, "
    label = f"{counts.succeeded} done, {skipped}{counts.failed} failed of {total}"
    return f'<svg class="progress" role="img" aria-label="{label}" width="100%" height="10">{"".join(parts)}</svg>'


def make_run(run: RunReport, data: str) -> str:
    """Everything about one run of DATA."""
    facts = [f"run {run.run_id}", f"started {format_time(run.started_ms)}"]
    facts += [f"{len(run.parts) - 1} times resumed"] if len(run.parts) > 1 else []
    facts += [text for text in (run.host, f"inorder {run.version}" if run.version else "", run.policy) if text]
    command = f'<p class="facts"><code>{escape_text(run.command)}</code></p>' if run.command else ""
    return (
        f'<section class="run" id="run-{run.run_id}" aria-label="{escape_text(run.stage)}, run {run.run_id}">'
        f"<h2>{escape_text(run.stage)} {make_state(run.state)}</h2>"
        f'<p class="facts">{escape_text(f"{run.stage} {run.state_text}")} · {" · ".join(map(escape_text, facts))}</p>'
        f"{command}{_make_tiles(run)}{make_files(run)}{_make_activity(run)}{make_failures(run, data)}"
        f"{make_tallies(run)}{_make_compute(run)}{_make_workers(run)}</section>"
    )


def _make_tiles(run: RunReport) -> str:
    lost = format_plural(run.mark_counts.get("lost", 0), "worker")
    utilisation = run.worker_timeline.utilisation_percent
    tiles = _list_file_tiles(run.files) if run.files is not None else _list_item_tiles(run)
    tiles += [
        ("Rate", f"{format_rate(run.items_per_s)} /s", _describe_input(run)),
        ("Time", format_duration(run.active_ms), _describe_eta(run)),
        ("Retries", format_count(run.mark_counts.get("retry", 0)), f"{lost} lost"),
    ]
    if utilisation is not None:
        tiles.append(("Busy", f"{utilisation:.0f} %", format_plural(run.worker_timeline.total, "worker")))
    if run.counts.adopted:
        tiles.append(("Adopted", format_count(run.counts.adopted), "results of the interrupted run"))
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{escape_text(value)}</dd><dd class='small'>{escape_text(note)}</dd></div>"
        for name, value, note in tiles
    )
    return f'<dl class="tiles">{cells}</dl>'


def _list_file_tiles(files: FileReport) -> list[tuple[str, str, str]]:
    """The counts of a run of the pipeline, in its words. Every file is in one of them."""
    counts = files.counts
    shown = (
        ("New", counts.new),
        ("Changed", counts.changed),
        ("Unchanged", counts.unchanged),
        ("Copies", counts.copies),
        ("Failed", counts.failed),
        ("Not read", counts.not_read),
    )
    tiles = [("Files", format_count(files.files), f"{format_count(counts.removed)} removed")]
    return tiles + [(name, format_count(count), "files") for name, count in shown if count]


def _list_item_tiles(run: RunReport) -> list[tuple[str, str, str]]:
    counts = run.counts
    tiles = [("Done", format_count(counts.succeeded), f"of {format_count(counts.total or counts.done)}")]
    if not run.is_pass:
        tiles.append(("Skipped", format_count(counts.skipped), "had nothing to do"))
    return [*tiles, ("Failed", format_count(counts.failed), _describe_categories(run))]


def _describe_categories(run: RunReport) -> str:
    names = [tally.text for tally in run.failures.categories]
    return f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''}" if names else "none"


def _describe_input(run: RunReport) -> str:
    return f"{format_bytes(run.bytes_per_s)}/s of input" if run.bytes_per_s else "files" if run.is_pass else "items"


def _describe_eta(run: RunReport) -> str:
    return f"about {format_duration(run.eta_s * 1000)} left" if run.eta_s is not None else run.state


def _make_activity(run: RunReport) -> str:
    """What a run waits for, or what a killed one was running."""
    if not run.waiting_for and not run.running:
        return ""
    is_live = run.state == "running"
    waiting = f"<p>{'It waits for' if is_live else 'It waited for'} {isolate(run.waiting_for)}.</p>"
    running = "".join(f"<li>{isolate(text)}</li>" for text in run.running)
    title = "Running now" if is_live else "What it was running at its last sign of life"
    return f'<div class="card activity"><h3>{title}</h3>{waiting if run.waiting_for else ""}<ul>{running}</ul></div>'


def _make_compute(run: RunReport) -> str:
    """Compute and commit."""
    if not run.series.at_ms:
        text = "Nothing was measured yet." if run.has_telemetry else "This run wrote no telemetry: nothing to draw."
        return f'<div class="card"><h3>Compute and commit</h3><p class="note">{text}</p></div>'
    legend = [("computed", "computed"), ("committed", "committed"), ("gap", "computed, waiting to be committed")]
    if run.windows:
        legend.append(("window-0", "windows"))
    kinds = {span.kind for span in run.spans}
    legend += [(f"span-{kind}", name) for kind, name in SPAN_NAMES.items() if kind in kinds]
    lag_most = max(a - b for a, b in zip(run.series.computed, run.series.committed, strict=True))
    charts = _make_figure("Items over time", draw_fronts(run), legend, _make_marks(run))
    charts += _make_figure("Commit lag", draw_lag(run), [("lag", f"items computed ahead, at most {lag_most:,}")])
    buffered = f"results that wait, at most {format_bytes(max(run.series.buffered_bytes))}"
    charts += _make_figure("Buffered bytes", draw_buffered(run), [("buffered", buffered)], _describe_budget(run))
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


def _describe_budget(run: RunReport) -> str:
    if run.buffered_bytes_max is None or run.buffered_bytes_soft is None:
        return ""
    most = max(run.series.buffered_bytes)
    share = 100 * most / run.buffered_bytes_max
    return (
        f"<p class='note'>At most {share:.0f} % of the budget: the run slows down at "
        f"{format_bytes(run.buffered_bytes_soft)} and pauses at {format_bytes(run.buffered_bytes_max)}.</p>"
    )


def _make_spans(run: RunReport) -> str:
    """Why and how long the run was slowed down, paused or stalled."""
    if not run.spans:
        return ""
    longest = sorted(run.spans, key=lambda span: span.from_ms - span.to_ms)
    rows = [[span.kind, format_ms(span.to_ms - span.from_ms), isolate(span.reason)] for span in longest]
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
        f'<p class="note">{escape_text(stats.meaning)}</p><p class="quantiles">median {format_ms(stats.p50_ms)} · '
        f"95 % {format_ms(stats.p95_ms)} · most {format_ms(stats.max_ms)}</p></figure>"
        for stats in run.durations
        if stats.count
    )
    return (
        f'<div class="card"><h3>Workers{cut}</h3>{drawn}<div class="histograms">{histograms}</div>'
        f"{make_groups(run)}{make_slowest(run)}</div>"
    )


def make_dataset(report: PipelineReport) -> str:
    """The contents of DATA."""
    return "" if report.dataset is None else make_contents(report.dataset)


def make_limits(report: PipelineReport) -> str:
    """Every list that was cut."""
    if not report.limits:
        return ""
    items = "".join(f"<li>{escape_text(text)}</li>" for text in report.limits)
    return (
        f'<section aria-label="Limits"><h2>Limits of this page</h2><div class="card"><ul>{items}</ul></div></section>'
    )
