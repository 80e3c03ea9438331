"""`inorder failures`: the files and items that are failed now."""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any, NamedTuple

import typer

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.output import (
    encode_json,
    encode_text,
    indent_lines,
    info,
    pluralize,
    stream_json,
    stream_lines,
    to_one_line,
)
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.engines.attempt import escape_surrogates
from inorder.library.reader import FileFailure, LibraryReader
from inorder.pipeline.names import is_chosen
from inorder.pipeline.state import suggest_help
from inorder.sinks.packed_lines import open_lines
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import ManifestLine, read_line


class FailedEntry(NamedTuple):
    """A file or an item that is failed."""

    raw: bytes
    """As JSON."""
    text: str
    """For people."""
    traceback: str


def failures(
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the tracebacks, too.")] = False,
) -> None:
    """List the files that are failed now: the step, the category, the reason, and what would help.

    A file that is gone, was read since, or is excluded is not listed. Items of your own stages are listed, too, with
    their rows in the manifest. `inorder retry` runs exactly these files and items again.
    """
    directory = open_data(data)
    has_library, stages = directory.select(stage)
    files = items = 0

    def find() -> Iterator[FailedEntry]:
        nonlocal files, items
        for entry in _list_files(directory.root, stage) if has_library else ():
            files += 1
            yield entry
        for entry in _list_items(directory, stages):
            items += 1
            yield entry

    if as_json:
        stream_json("failures", (entry.raw for entry in find()), lambda: {"count": files + items})
    elif as_jsonl:
        stream_lines(entry.raw for entry in find())
    else:
        stream_lines(
            encode_text(text)
            for entry in find()
            for text in (entry.text, *(indent_lines(entry.traceback) if verbose else ()))
        )
        counts = [pluralize(count, noun) for count, noun in ((files, "file"), (items, "item")) if count]
        hint = f"{' and '.join(counts)} failed; `inorder retry{directory.option}` runs them again"
        info(hint if counts else f"no failed {'files' if has_library else 'items'}")


# ---- Files of the pipeline


def _list_files(root: str, name: str | None) -> Iterator[FailedEntry]:
    """The files of which a step has failed, in the order of their ids."""
    with closing(LibraryReader(root)) as library:
        for failure in library.list_failures():
            if name is None or is_chosen(failure.step, name):
                known = library.get_file(failure.item_id)
                yield _describe_file(failure, "" if known is None else known.path)


def _describe_file(failure: FileFailure, path: str) -> FailedEntry:
    message = to_one_line(failure.message)
    help_ = suggest_help(failure.category, message)
    row: dict[str, Any] = {
        "stage": failure.step.partition(":")[0],
        "step": failure.step,
        "doc_id": escape_surrogates(failure.item_id),
        "status": "failure",
        "input_path": escape_surrogates(path),
        "attempts": failure.attempts,
        "error": {"category": failure.category, "message": failure.message},
        "help": help_,
        "traceback": failure.detail,
        "run_id": failure.run_id,
    }
    reason = f"{failure.step}, {failure.category}, {pluralize(failure.attempts, 'attempt')}: {message}"
    text = f"{failure.item_id}  {reason}{f'; {help_}' if help_ else ''}"
    return FailedEntry(encode_json(row), text, failure.detail)


# ---- Items of stages


def _list_items(directory: DataDirectory, stages: list[str]) -> Iterator[FailedEntry]:
    """The failed items of stages, in the order of their rows."""
    for name in stages:
        manifest = directory.layout(name).manifest
        if not os.path.exists(manifest):  # the run was killed before its first item
            continue
        with open_lines(manifest) as file:
            for status in ItemStatuses.read(manifest).failures():
                yield _describe_item(read_line(file, status.latest))


def _describe_item(line: ManifestLine) -> FailedEntry:
    row = line.row
    if row is None or row.error is None:
        return FailedEntry(line.raw, line.raw.decode("utf-8", "replace"), "")
    step = f"step {row.error.step}, " if row.error.step else ""
    reason = f"{step}{row.error.category}, {pluralize(row.attempts, 'attempt')}: {to_one_line(row.error.message)}"
    return FailedEntry(line.raw, f"{row.stage}  {row.doc_id}  {reason}", row.traceback)
