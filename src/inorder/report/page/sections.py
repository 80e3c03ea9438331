"""The sections of a page, from the verdict to the dataset."""

from inorder.pipeline.outcome import list_not_read
from inorder.report.model import FailureGroup, PipelineReport, RunReport
from inorder.report.verdict import format_duration

from .engine import make_tiles
from .lists import make_failed_items, make_tally_table
from .text import escape_text, format_count, format_plural, isolate

_STATE_SIGNS = {"running": "▶", "finished": "✓", "stopped": "■", "killed": "✕", "failed": "✕", "unknown": "?"}


def make_verdict_box(report: PipelineReport) -> str:
    """The first sentence, and the command to copy."""
    verdict = report.verdict
    details = "".join(f"<p>{escape_text(text)}</p>" for text in verdict.details)
    running = "".join(_make_progress(run) for run in report.runs if run.state == "running")
    next_step = f'<p class="next">{escape_text(verdict.next_step)}</p>' if verdict.next_step else ""
    command = make_command(verdict.command) if verdict.command else ""
    return (
        f'<section class="verdict level-{verdict.level}" aria-label="Verdict"><p class="state">'
        f"{make_state(verdict.state)}</p><h1>{escape_text(verdict.sentence)}</h1>{running}"
        f'<div class="details">{details}</div>{next_step}{command}</section>'
    )


def make_command(command: str) -> str:
    """A command to copy."""
    return (
        f'<div class="command"><code>{escape_text(command)}</code>'
        '<button type="button" class="copy" hidden>Copy</button></div>'
    )


def make_state(state: str) -> str:
    """The state of a run as a badge."""
    return f'<span class="badge state-{state}"><span aria-hidden="true">{_STATE_SIGNS[state]}</span> {state}</span>'


def _make_progress(run: RunReport) -> str:
    """A bar of outcomes."""
    counts = run.counts
    total = max(1, counts.total or counts.done)
    parts, place = [], 0.0
    for css, count in (("done", counts.succeeded), ("skipped", counts.skipped), ("failed", counts.failed)):
        width = 100 * count / total
        parts.append(f'<rect class="{css}" x="{place:.2f}%" width="{width:.2f}%" height="10"/>')
        place += width
    label = f"{counts.done} done of {total}, {counts.failed} of them failed"
    return f'<svg class="progress" role="img" aria-label="{label}" width="100%" height="10">{"".join(parts)}</svg>'


def make_navigation(sections: dict[str, str]) -> str:
    """Links to the sections that are there, by their ids."""
    items = "".join(f'<a href="#{target}">{escape_text(name)}</a>' for target, name in sections.items())
    return f'<nav aria-label="Sections">{items}</nav>'


def make_failed(run: RunReport, option: str) -> str:
    """What failed, grouped by reason, with what would help."""
    failures = run.failures
    if not failures.total:
        return ""
    noun = "file" if run.is_pass else "item"
    groups = "".join(f"<li>{_make_group(group, noun)}</li>" for group in failures.groups)
    is_hidden = any(group.count > len(group.examples) for group in failures.groups)
    listed = ""
    if is_hidden or (not run.is_pass and any(row.traceback for row in failures.rows)):
        listed = f"<details><summary>All failed {noun}s</summary>{make_failed_items(run)}</details>"
    stage = "" if run.is_pass else f" --stage {run.stage}"
    retry = make_command(f"inorder retry{stage}{option}")
    return (
        f'<h2>Failed <span class="badge state-failed">{format_plural(failures.total, noun)}</span></h2>'
        f'<div class="card"><ul class="groups">{groups}</ul>{listed}'
        f'<p class="next">Once they are mended, run exactly these again:</p>{retry}</div>'
    )


def _make_group(group: FailureGroup, noun: str) -> str:
    names = ", ".join(map(isolate, group.examples))
    more = f" and {format_count(group.count - len(group.examples))} more" if group.count > len(group.examples) else ""
    step = f"step {group.step}, " if group.step else ""
    help_ = f'<p class="help">{escape_text(f"{group.help[0].upper()}{group.help[1:]}")}.</p>' if group.help else ""
    return (
        f"<strong>{isolate(group.message)}</strong> "
        f'<span class="quiet">{format_plural(group.count, noun)} ({escape_text(step + group.category)})</span>'
        f'<p class="names">{names}{more}</p>{help_}'
    )


def make_not_read(run: RunReport) -> str:
    """What was not read and what was read with warnings, and what to do."""
    files = run.files
    lines = [] if files is None else list_not_read(files)
    items = "".join(f"<li>{isolate(line)}</li>" for line in lines)
    not_read = f'<ul class="groups">{items}</ul>' if items else ""
    warnings = make_tally_table("Read with warnings", "Warning", "Files", run.warnings)
    notes = "".join(f"<li>{isolate(note)}</li>" for note in run.notes)
    notes = f"<h3>Warnings of the run</h3><ul>{notes}</ul>" if notes else ""
    if not (not_read or warnings or notes):
        return ""
    count = files.counts.not_read if files is not None else 0
    badge = f' <span class="badge">{format_plural(count, "file")}</span>' if count else ""
    title = f"Not read{badge}" if not_read else "Warnings"
    return f'<h2>{title}</h2><div class="card">{not_read}{warnings}{notes}</div>'


def make_activity(run: RunReport) -> str:
    """What a run is running, or what a killed one was running."""
    if not run.running:
        return ""
    title = "Running now" if run.state == "running" else "What it was running at its last sign of life"
    running = "".join(f"<li>{isolate(text)}</li>" for text in run.running)
    return f'<div class="card activity"><h3>{title}</h3><ul>{running}</ul></div>'


def make_stage(run: RunReport, option: str) -> str:
    """The run of a stage of the user's, in items."""
    counts = run.counts
    tiles = [
        ("Done", format_count(counts.succeeded), f"of {format_count(counts.total or counts.done)}"),
        ("Skipped", format_count(counts.skipped), ""),
        ("Failed", format_count(counts.failed), ""),
        ("Time", format_duration(run.active_ms), ""),
    ]
    skips = make_tally_table("Skipped items by reason", "Reason", "Items", run.skips)
    warnings = make_tally_table("Warnings", "Warning", "Items", run.warnings)
    notes = "".join(f"<li>{isolate(note)}</li>" for note in run.notes)
    lists = f"{skips}{warnings}{f'<ul>{notes}</ul>' if notes else ''}"
    card = f'<div class="card">{lists}</div>' if lists else ""
    return (
        f'<section class="run" id="run-{run.run_id}" aria-label="{escape_text(run.stage)}, run {run.run_id}">'
        f"<h2>{escape_text(run.stage)} {make_state(run.state)}</h2>{make_tiles(tiles)}{make_activity(run)}"
        f"{make_failed(run, option)}{card}</section>"
    )
