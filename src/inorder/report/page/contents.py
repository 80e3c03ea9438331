"""The section about the contents of DATA."""

from typing import Any

from inorder.report.model import DatasetReport, LibraryContents
from inorder.report.verdict import format_time

from .charts import draw_bars
from .tables import make_table
from .text import escape_text, format_bytes, format_count, format_plural


def make_contents(dataset: DatasetReport) -> str:
    """What the pipeline has made, its size on disk, and its growth over runs."""
    library = "" if dataset.library is None else _make_library(dataset.library)
    rows = [[escape_text(usage.name), format_count(usage.files), format_bytes(usage.bytes)] for usage in dataset.disk]
    heads = [("Part of DATA", "wide"), ("Files", "number"), ("Size", "number")]
    disk = make_table(f"On disk: {format_bytes(dataset.bytes_total)}", heads, rows)
    return (
        f'<section id="dataset" aria-label="Dataset"><h2>Dataset</h2><div class="columns">{library}'
        f'<div class="card">{disk}</div></div></section>'
    )


def _make_library(library: LibraryContents) -> str:
    published = format_time(library.published_ms) if library.published_ms else "never"
    facts = [f"<p>{escape_text(library.line)}</p>"]
    facts += [
        f"<p><strong>{escape_text(subject)}</strong>: {escape_text('; '.join(lines))}</p>"
        for subject, lines in library.lines.items()
    ]
    facts.append(f'<p class="note">generation {library.generation}, published {published}</p>')
    history = ""
    if library.runs > 1:
        rows = [
            [
                format_time(point.began_ms),
                f"<code>{escape_text(point.run_id[:8])}</code>",
                *map(format_count, (point.counts.new, point.counts.changed, point.counts.removed)),
                format_count(point.counts.failed),
            ]
            for point in reversed(library.history)
        ]
        heads = [("Run", ""), ("Id", ""), ("New", "number"), ("Changed", "number"), ("Removed", "number")]
        history = make_table("Runs, the latest first", [*heads, ("Failed", "number")], rows, library.runs)
    cards = f'<div class="card"><h3>Files</h3>{"".join(facts)}{history}</div>'
    for step in library.steps:
        failed = f", {format_count(step.failed)} failed" if step.failed else ""
        cards += (
            f'<div class="card"><h3>{escape_text(step.step)}</h3><p class="note">'
            f"{format_plural(step.done, 'file')}{failed}</p>{_make_values(step.contents)}</div>"
        )
    return cards


def _make_values(contents: dict[str, Any]) -> str:
    """The totals of a step."""
    cells, below = [], ""
    for name, value in contents.items():
        title = name.replace("_", " ")
        if isinstance(value, int | float):
            cells.append(f"<div><dt>{escape_text(title)}</dt><dd>{_format_number(value)}</dd></div>")
        elif name == "histogram":
            below += _make_token_histogram(value)
        elif name == "families":
            below += _make_families(value)
        elif isinstance(value, dict) and value:
            parts = ", ".join(f"{escape_text(str(key))} {_format_number(count)}" for key, count in value.items())
            below += f"<p><strong>{escape_text(title)}</strong>: {parts}</p>"
    return (f'<dl class="tiles small">{"".join(cells)}</dl>' if cells else "") + below


def _format_number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" if isinstance(value, float) else str(value)


def _make_token_histogram(histogram: list[dict[str, Any]]) -> str:
    bars, low = [], 0
    for each in histogram:
        bound = each["tokens_max"]
        bars.append((f"up to {bound}" if bound is not None else f"over {low}", each["chunks"]))
        low = bound or low
    total = sum(count for _, count in bars)
    labels = "".join(
        f"<li><span>{escape_text(name.removeprefix('up to '))}</span> {format_count(count)}</li>"
        for name, count in bars
    )
    drawn = draw_bars(bars, f"Tokens of {format_plural(total, 'chunk')}.", "chunks")
    return f'<figure><figcaption>Tokens per chunk</figcaption>{drawn}<ol class="bars">{labels}</ol></figure>'


def _make_families(families: dict[str, dict[str, Any]]) -> str:
    rows = [
        [
            escape_text(name),
            format_count(values.get("vectors", 0)),
            format_count(values.get("documents", 0)),
            escape_text(", ".join(values.get("providers", ()))),
        ]
        for name, values in families.items()
    ]
    heads = [("Family", ""), ("Vectors", "number"), ("Documents", "number"), ("Provider", "wide")]
    return make_table("Vectors", heads, rows)
