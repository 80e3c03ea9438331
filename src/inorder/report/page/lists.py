"""The tables of items: slowest, failed, skipped, warnings."""

from inorder.report.model import RunReport, Tallies
from inorder.report.verdict import format_duration

from .tables import make_table
from .text import escape_text, format_count, isolate


def make_slowest(run: RunReport) -> str:
    """The items that took longest; of a run of the pipeline, the steps of files that did."""
    if not run.slowest:
        return ""
    rows = [
        [
            isolate(item.item_id),
            *([escape_text(item.step)] if run.is_pass else []),
            format_duration(item.duration_s * 1000),
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


def make_failed_items(run: RunReport) -> str:
    """The failed items one by one, each with message and traceback."""
    rows = []
    for item in run.failures.rows:
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
    return make_table("Failed", heads, rows, run.failures.total)


def make_tally_table(caption: str, head: str, noun: str, tallies: Tallies) -> str:
    """Texts by frequency; empty: there are none."""
    if not tallies.total:
        return ""
    rows = [[isolate(row.text), format_count(row.count), isolate(row.example)] for row in tallies.rows]
    return make_table(caption, [(head, "wide"), (noun, "number"), ("First", "name")], rows, tallies.distinct)
