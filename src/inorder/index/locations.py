"""Where the files of an index lie on disk.

An index identifies a file by its item id: the name of a source root and the path below it. A path is derived from it
when a question is answered, from where the root was in the latest run, and is relative to the current folder if the
file lies below it. So every path in an answer can be opened from the current folder, for documents and code alike, and
also after a root was moved and indexed again.
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_to_bytes

import msgspec

from inorder.stage.sources import is_address, join_address, quote_id, quote_key

from .rows import DOCUMENT

RootsByKind = dict[str, dict[str, str]]
"""For documents and for code: the path of each source root by its name, as item ids have it."""


def identify_file(roots: Mapping[str, str], path: str) -> list[str]:
    """The item ids that a source file has, or would have, below the roots of documents."""
    place = path if is_address(path) else os.path.abspath(path)
    found = []
    for name, root in roots.items():
        if place == root:
            found.append(name)
        elif is_address(root):
            if place.startswith(f"{root.rstrip('/')}/"):
                found.append(f"{name}/{quote_key(place.removeprefix(root).lstrip('/'))}")
        elif place.startswith(f"{root.rstrip(os.sep)}{os.sep}"):
            found.append(f"{name}/{quote_id(os.path.relpath(place, root))}")
    return found


def match_copies(connection: sqlite3.Connection, copies: Sequence[tuple[str, str]], patterns: Sequence[str]) -> str:
    """The documents that have a copy whose path or item id matches one of these globs, as JSON; empty: there are
    none."""
    rows = msgspec.json.encode(copies).decode()
    copy, original = "json_extract(value, '$[0]')", "json_extract(value, '$[1]')"
    query = f"SELECT DISTINCT {original} FROM json_each(?) WHERE {copy} GLOB ? OR location(?, {copy}, {copy}) GLOB ?"
    found = [
        each
        for pattern in (patterns if copies else ())
        for (each,) in connection.execute(query, (rows, pattern, DOCUMENT, pattern))
    ]
    return msgspec.json.encode(found).decode() if found else ""


def locate(roots: Mapping[str, Mapping[str, str]], kind: str, item_id: str, path: str) -> str:
    """The path of a file, as seen from the current folder. `path` is used if the root of the file is unknown."""
    name, _, below = item_id.partition("/")
    root = roots.get(kind, {}).get(name)
    if root is not None and is_address(root):
        return join_address(root, os.fsdecode(unquote_to_bytes(below))) if below else root
    if root is not None:
        path = os.path.join(root, os.fsdecode(unquote_to_bytes(below))) if below else root
    here = f"{os.getcwd().rstrip(os.sep)}/"
    return path.removeprefix(here)
