"""`inorder sources`: the sources of DATA, and where each lies."""

import os
from contextlib import closing
from datetime import datetime
from typing import Annotated, Any

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.option_spec import Section
from inorder.cli.output import format_table, info, print_json, print_out, to_printable
from inorder.cli.parameters import DataOption, JsonOption, make_argument, make_option
from inorder.cli.pipeline import require_library
from inorder.errors import OperatorError, require
from inorder.library.reader import LibraryReader
from inorder.library.rows import LibrarySource
from inorder.pipeline.names import RUN
from inorder.pipeline.sources.names import KnownSource, find_source, normalize_location, resolve_sources
from inorder.stage.sources import is_address


def sources(
    name: Annotated[str | None, make_argument("[NAME]", "Only this source.")] = None,
    path: Annotated[
        str | None,
        make_option(
            Section.INPUT,
            "NEW",
            "Say where the source NAME lies now. Its files keep their ids, and nothing is computed again.",
            "--path",
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the sources of DATA: name, path or address, number of files, when it was last walked, whether it is there.

    A source gets its name when it first comes, and keeps it. `inorder sources docs --path /new/docs` says that it has
    moved. `inorder forget NAME` removes a source with all its files.
    """
    directory = open_data(data)
    require_library(directory.root)
    require(path is None or name is not None, "--path needs the NAME of the source that has moved")
    if path is not None and name is not None:
        _move(directory, name, path)
    found = _list_sources(directory.root, name)
    if as_json:
        print_json({"sources": found})
        return
    rows = [("name", "files", "last walked", "path")]
    for each in found:
        place = to_printable(each["path"]) + ("" if each["is_there"] else " (not there)")
        rows.append((each["name"], str(each["files"]), each["walked_at"] or "never", place))
    print_out(*format_table(rows))


def _list_sources(root: str, name: str | None) -> list[dict[str, Any]]:
    with closing(LibraryReader(root)) as library:
        known = library.list_sources()
        if name is not None:
            find_source(name, [KnownSource(each.name, each.path) for each in known])
        counts = library.count_by_source()
    return [
        {
            "name": each.name,
            "path": each.path,
            "kind": each.kind,
            "files": counts.get(each.name, 0),
            "walked_at": _format_time(each.walked_at),
            "is_there": is_address(each.path) or os.path.lexists(each.path),
        }
        for each in known
        if name in (None, each.name)
    ]


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds") if seconds else ""


def _move(directory: DataDirectory, name: str, path: str) -> None:
    """Note where a source lies now."""
    from inorder.library.sink import LibrarySink  # with NumPy, which a listing does not need

    location = normalize_location(path)
    require(is_address(location) or os.path.exists(location), f"no such file or directory: {location}")
    lock = directory.lock(RUN)
    try:
        with closing(LibraryReader(directory.root)) as library:
            listed = {each.name: each for each in library.list_sources()}
        known = [KnownSource(each.name, each.path) for each in listed.values()]
        before = find_source(name, known)
        others = [each for each in known if each.name != name]
        [part] = resolve_sources([location], others)
        if part.name in {each.name for each in others} and not part.moved_from:
            raise OperatorError(f"{location} belongs to the source {part.name!r} already")
        kind = "address" if is_address(location) else "folder"
        moved = LibrarySource(name, location, kind, walked_at=listed[name].walked_at)
        with closing(LibrarySink(directory.root)) as sink:
            sink.put_source(moved)
    finally:
        lock.release()
    info(f"the source {name} has moved from {before.location} to {location}")
