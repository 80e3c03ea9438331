"""The section about the contents of DATA, and about what a run changed in it."""

from typing import Any

import msgspec

from inorder.pipeline.outcome import describe_counts
from inorder.report.model import DatasetReport, LibraryContents, RunReport
from inorder.report.verdict import format_duration, format_time

from .engine import make_tiles
from .tables import make_table
from .text import escape_text, format_bytes, format_count


def make_contents(dataset: DatasetReport | None) -> str:
    """What DATA holds: documents, source files, chunks, vectors, sources, and its size on disk."""
    if dataset is None or dataset.library is None:
        return ""
    library = dataset.library
    disk = ("On disk", format_bytes(dataset.bytes_total), "")
    published = f"published {format_time(library.published_ms)}" if library.published_ms else "not published yet"
    return (
        f'<h2>Dataset</h2><p class="facts">{escape_text(library.line)} · {published}</p>'
        f'{make_tiles([*_list_tiles(library.steps), disk])}<div class="columns">{_make_types(library.steps)}'
        f"</div>{_make_history(library)}"
    )


def _list_tiles(contents: dict[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
    doctags, index = contents.get("doctags", {}), contents.get("index", {})
    found = [
        ("Documents", doctags.get("documents", 0), f"{doctags.get('pages', 0):,} pages"),
        ("Source files", index.get("files", 0), f"{index.get('lines', 0):,} lines"),
        ("Chunks", index.get("chunks", 0), ""),
    ]
    for step, values in contents.items():
        for name, family in values.get("families", {}).items() if step.startswith("embed") else ():
            providers = ", ".join(map(str, family.get("providers", ())))
            found.append((f"Vectors ({name})", family.get("vectors", 0), providers))
    return [(name, format_count(count), note if count else "") for name, count, note in found]


def _make_types(contents: dict[str, dict[str, Any]]) -> str:
    """Documents by type, and source files by language."""
    kinds = contents.get("doctags", {}).get("kinds", {})
    languages = contents.get("index", {}).get("languages", {})
    lists = (("Documents by type", kinds), ("Source files by language", languages))
    shown = ""
    for title, counts in lists:
        ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        items = "".join(
            f"<li><strong>{format_count(count)}</strong> {escape_text(name)}</li>" for name, count in ordered
        )
        shown += f'<div class="card"><h3>{title}</h3><ul class="chips">{items}</ul></div>' if items else ""
    return shown


def _make_history(library: LibraryContents) -> str:
    """The runs so far, folded."""
    if library.runs < 2:
        return ""
    rows = [
        [format_time(point.began_ms), f"<code>{escape_text(point.run_id[:8])}</code>", describe_counts(point.counts)]
        for point in library.history
    ]
    heads = [("Began", ""), ("Run", ""), ("Files", "wide")]
    table = make_table("Files of each run, the latest first", heads, rows, library.runs)
    return f"<details><summary>{format_count(library.runs)} runs so far</summary>{table}</details>"


def make_run_changes(run: RunReport) -> str:
    """What a run of the pipeline changed, in files, and the time of each step."""
    files = run.files
    if files is None:
        return ""
    counts = msgspec.to_builtins(files.counts)
    tiles = [(name.replace("_", " ").capitalize(), format_count(count), "") for name, count in counts.items() if count]
    rows = [
        [
            escape_text(name.replace(":", ", ")),
            format_count(step.files),
            format_count(step.failed),
            format_duration(step.duration_s * 1000),
            format_duration(step.duration_s * 1000 / max(1, step.files + step.failed)),
        ]
        for name, step in files.steps.items()
    ]
    heads = [("Step", ""), ("Files", "number"), ("Failed", "number"), ("Time", "number"), ("Per file", "number")]
    steps = make_table("Steps of this run: time of all workers together", heads, rows, is_paged=False) if rows else ""
    steps = f'<div class="card">{steps}</div>' if steps else ""
    began = f"Began {format_time(run.started_ms)}, run {run.run_id}"
    title = "This run" if run.state == "finished" else "This run so far"
    return f'<h2>{title}</h2><p class="facts">{escape_text(began)}</p>{make_tiles(tiles)}{steps}'
