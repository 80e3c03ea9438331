"""The tables of items: slowest, failed, skipped, warnings."""

import shlex

from inorder.report.model import RunReport, Tallies

from .tables import make_table
from .text import escape_text, format_count, format_ms, isolate


def make_files(run: RunReport) -> str:
    """What a run of the pipeline did: why files are not read, and the time of each step."""
    files = run.files
    if files is None:
        return ""
    reasons = "".join(f"<li>{isolate(line)}</li>" for line in files.not_read)
    not_read = f"<h4>Not read</h4><ul>{reasons}</ul>" if reasons else ""
    rows = [
        [
            escape_text(name),
            format_count(step.files),
            format_count(step.failed),
            format_ms(step.duration_s * 1000),
            format_ms(step.duration_s * 1000 / max(1, step.files + step.failed)),
        ]
        for name, step in files.steps.items()
    ]
    heads = [("Step", ""), ("Files", "number"), ("Failed", "number"), ("Time", "number"), ("Per file", "number")]
    steps = make_table("Time of each step, in all workers", heads, rows, is_paged=False) if rows else ""
    return f'<div class="card"><h3>Files</h3><p>{escape_text(files.line)}</p>{not_read}{steps}</div>'


def make_slowest(run: RunReport) -> str:
    """The items that took longest; of a run of the pipeline, the steps of files that did."""
    if not run.slowest:
        return ""
    rows = [
        [
            isolate(item.item_id),
            *([escape_text(item.step)] if run.is_pass else []),
            format_ms(item.duration_s * 1000),
            escape_text(item.status),
            format_count(item.attempts),
            "" if item.worker is None else format_count(item.worker),
            format_count(item.seq),
        ]
        for item in run.slowest
    ]
    heads = [("File", "name"), ("Step", "")] if run.is_pass else [("Item", "name")]
    heads += [("Time", "number"), ("Status", ""), ("Attempts", "number"), ("Worker", "number"), ("Seq", "number")]
    processed = None if run.is_pass else run.counts.succeeded + run.counts.failed
    return make_table("Slowest steps of files" if run.is_pass else "Slowest items", heads, rows, processed)


def make_groups(run: RunReport) -> str:
    """Items and times by kind, with what the workers measured."""
    if len(run.groups) < 2:
        return ""
    measures = sorted({name for group in run.groups for name in group} - {"name", "items", "exec_ms"})[:6]
    rows = [
        [
            isolate(str(group["name"]) or "(none)"),
            format_count(int(group["items"])),
            format_ms(group["exec_ms"]),
            format_ms(group["exec_ms"] / max(1, group["items"])),
            *(f"{group.get(name, 0):,.6g}" for name in measures),
        ]
        for group in sorted(run.groups, key=lambda group: -group["exec_ms"])
    ]
    heads = [("Kind", ""), ("Items", "number"), ("Time", "number"), ("Per item", "number")]
    heads += [(name.replace("_", " "), "number") for name in measures]
    return make_table("By kind", heads, rows)


def make_failures(run: RunReport, data: str) -> str:
    """Failures by category, each with message and traceback."""
    failures = run.failures
    if not failures.total:
        return ""
    categories = "".join(
        f"<li><strong>{format_count(tally.count)}</strong> {escape_text(tally.text)}</li>"
        for tally in failures.categories
    )
    rows = []
    for item in failures.rows:
        trace = ""
        if item.traceback:
            shown = escape_text(item.traceback, keep_lines=True)
            trace = f"<details><summary>Traceback</summary><pre>{shown}</pre></details>"
        rows.append(
            [
                isolate(item.item_id),
                *([escape_text(item.step)] if run.is_pass else []),
                escape_text(item.category),
                f"{isolate(item.message)}{trace}",
                format_count(item.attempts),
            ]
        )
    heads = [("File", "name"), ("Step", "")] if run.is_pass else [("Item", "name")]
    heads += [("Category", ""), ("Error", "wide"), ("Attempts", "number")]
    stage = "" if run.is_pass else f" --stage {run.stage}"
    retry = escape_text(f"inorder retry{stage} --data {shlex.quote(data)}")
    command = f'<div class="command"><code>{retry}</code><button type="button" class="copy" hidden>Copy</button></div>'
    return (
        f'<div class="card"><h3>Failures</h3><ul class="categories">{categories}</ul>'
        f"{make_table('Failed in this run', heads, rows, failures.total)}{command}</div>"
    )


def make_tallies(run: RunReport) -> str:
    """Skipped items by reason, and warnings."""
    skips = _make_tally_table("Skipped items by reason", "Reason", run.skips)
    warnings = _make_tally_table("Warnings", "Warning", run.warnings)
    notes = "".join(f"<li>{isolate(note)}</li>" for note in run.notes)
    notes = f"<h4>Warnings of the run</h4><ul>{notes}</ul>" if notes else ""
    if not skips and not warnings and not notes:
        return ""
    title = "Skipped and warned" if skips else "Warnings"
    return f'<div class="card"><h3>{title}</h3>{notes}{warnings}{skips}</div>'


def _make_tally_table(caption: str, head: str, tallies: Tallies) -> str:
    if not tallies.total:
        return ""
    rows = [[isolate(row.text), format_count(row.count), isolate(row.example)] for row in tallies.rows]
    heads = [(head, "wide"), ("Items", "number"), ("First item", "name")]
    return make_table(caption, heads, rows, tallies.distinct)
