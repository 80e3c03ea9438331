"""`inorder failures`: failed items and their errors."""

import os
from collections.abc import Iterator
from typing import Annotated

import typer

from inorder.cli.data_dir import open_data
from inorder.cli.output import encode_text, indent_lines, info, pluralize, stream_json, stream_lines, to_one_line
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.sinks.packed_lines import open_lines
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import ManifestLine, read_line


def failures(
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print the manifest rows, one JSON object per line.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the tracebacks, too.")] = False,
) -> None:
    """List the items that failed the last time they were tried, with category, attempts and error.

    An item that a later run has completed is not listed. `inorder retry` runs exactly these items again.
    """
    directory = open_data(data)
    count = 0

    def find() -> Iterator[ManifestLine]:
        nonlocal count
        for name in directory.select_stages(stage):
            manifest = directory.layout(name).manifest
            if not os.path.exists(manifest):  # the run was killed before its first item
                continue
            with open_lines(manifest) as file:
                for status in ItemStatuses.read(manifest).failures():
                    count += 1
                    yield read_line(file, status.latest)

    if as_json:
        stream_json("failures", (line.raw for line in find()), lambda: {"count": count})
    elif as_jsonl:
        stream_lines(line.raw for line in find())
    else:
        stream_lines(encode_text(text) for line in find() for text in _format(line, verbose=verbose))
        hint = f"{pluralize(count, 'item')} failed; `inorder retry{directory.option}` runs them again"
        info(hint if count else "no failed items")


def _format(line: ManifestLine, *, verbose: bool) -> list[str]:
    row = line.row
    if row is None or row.error is None:
        return [line.raw.decode("utf-8", "replace")]
    step = f"step {row.error.step}, " if row.error.step else ""
    reason = f"{step}{row.error.category}, {pluralize(row.attempts, 'attempt')}: {to_one_line(row.error.message)}"
    return [f"{row.stage}  {row.doc_id}  {reason}", *(indent_lines(row.traceback) if verbose else ())]
