"""`inorder failures`: the files and items that are failed now."""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Annotated, Any, NamedTuple

import typer

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.output import (
    encode_json,
    encode_text,
    fit_lines,
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
from inorder.pipeline.names import EXTRACT, is_chosen
from inorder.pipeline.remedies import suggest_help
from inorder.sinks.packed_lines import open_lines
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import ManifestLine, read_line
from inorder.stage.sources import quote_id


class FailedEntry(NamedTuple):
    """A file or an item that is failed."""

    raw: bytes
    """As JSON."""
    lines: tuple[str, ...]
    """For people: which one, and why."""
    traceback: str
    help: str = ""
    """What would help; empty: nothing is known."""
    is_extracted: bool = False
    """Whether a model was asked for fields: `inorder extract` asks again."""


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
    files = items = extracted = 0
    helps: Counter[str] = Counter()

    def find() -> Iterator[FailedEntry]:
        nonlocal files, items, extracted
        for entry in _list_files(directory, stage) if has_library else ():
            files += 1
            extracted += entry.is_extracted
            helps[entry.help] += bool(entry.help)
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
            for text in (*fit_lines(entry.lines, sys.stdout), *(indent_lines(entry.traceback) if verbose else ()))
        )
        counts = [pluralize(count, noun) for count, noun in ((files, "file"), (items, "item")) if count]
        if not counts:
            info(f"no failed {'files' if has_library else 'items'}")
            return
        again = [*(["inorder retry"] if files + items > extracted else []), *(["inorder extract"] if extracted else [])]
        commands = " and ".join(f"{command}{directory.option}" for command in again)
        info(f"{' and '.join(counts)} failed; to try again: {commands}")
        info(*fit_lines(f"{count:>6}: {found}" for found, count in helps.most_common() if count))


# ---- Files of the pipeline


def _list_files(data: DataDirectory, name: str | None) -> Iterator[FailedEntry]:
    """The files of which a step has failed, in the order of their ids."""
    with closing(LibraryReader(data.root)) as library:
        sources = {quote_id(source.name): shlex.quote(source.path) for source in library.list_sources()}
        for failure in library.list_failures():
            if name is None or is_chosen(failure.step, name):
                known = library.get_file(failure.item_id)
                source = sources.get(failure.item_id.partition("/")[0], "SRC")
                help_ = suggest_help(failure.category, to_one_line(failure.message), source, data.option)
                yield _describe_file(failure, "" if known is None else known.path, help_)


def _describe_file(failure: FileFailure, path: str, help_: str) -> FailedEntry:
    message = to_one_line(failure.message)
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
    where = (failure.step, failure.category)
    return FailedEntry(
        encode_json(row),
        _describe(failure.item_id, where, failure.attempts, message),
        failure.detail,
        help_,
        failure.step.startswith(f"{EXTRACT}:"),
    )


def _describe(item_id: str, where: Iterable[str], attempts: int, message: str) -> tuple[str, ...]:
    """Return a line with the id, and one with what failed there and why."""
    tries = [] if attempts == 1 else [pluralize(attempts, "attempt")]
    return item_id, f"  {', '.join([*where, *tries])}: {message}"


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
        return FailedEntry(line.raw, (line.raw.decode("utf-8", "replace"),), "")
    where = [row.stage, *([f"step {row.error.step}"] if row.error.step else []), row.error.category]
    lines = _describe(row.doc_id, where, row.attempts, to_one_line(row.error.message))
    return FailedEntry(line.raw, lines, row.traceback)
