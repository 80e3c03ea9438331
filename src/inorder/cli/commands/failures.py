"""`inorder failures`: what failed, and why."""

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from inorder.cli.options import DataOption, JsonOption, StageOption

if TYPE_CHECKING:
    from inorder.stage.manifest.reader import ManifestLine


def failures(
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print the rows of the failed items, one JSON object a line.")
    ] = False,
) -> None:
    """List the items that failed the last time they were tried, with the category, the attempts and the reason.

    An item that a later run has done is not among them. `inorder retry` runs exactly these again.
    """
    from inorder.cli.data_dir import open_data
    from inorder.cli.item_status import Standings
    from inorder.cli.output import as_bytes, counted, stream_json, stream_lines, tell
    from inorder.stage.manifest.reader import read_line

    dataset = open_data(data)
    count = 0

    def found() -> "Iterator[ManifestLine]":
        nonlocal count
        for name in dataset.chosen(stage):
            manifest = dataset.places(name).manifest
            if not os.path.exists(manifest):  # a run that has died before its first item
                continue
            with open(manifest, "rb") as file:
                for standing in Standings.of_manifest(manifest).failures():
                    count += 1
                    yield read_line(file, standing.latest)

    if as_json:
        stream_json("failures", (line.raw for line in found()), lambda: {"count": count})
    elif as_jsonl:
        stream_lines(line.raw for line in found())
    else:
        stream_lines(as_bytes(_in_words(line)) for line in found())
        where = "" if data is None else f" --data {shlex.quote(data)}"
        again = f"{counted(count, 'item')} failed; `inorder retry{where}` runs them again"
        tell(again if count else "nothing has failed")


def _in_words(line: "ManifestLine") -> str:
    from inorder.cli.output import counted, in_one_line

    row = line.row
    if row is None or row.error is None:
        return line.raw.decode("utf-8", "replace")
    reason = f"{row.error.category}, {counted(row.attempts, 'attempt')}: {in_one_line(row.error.message)}"
    return f"{row.stage}  {row.doc_id}  {reason}"
