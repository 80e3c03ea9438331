"""Where the files of an index lie on disk.

An index identifies a file by its item id: the name of a source root and the path below it. A path is derived from it
when a question is answered, from where the root was in the latest run, and is relative to the current folder if the
file lies below it. So every path in an answer can be opened from the current folder, for documents and code alike, and
also after a root was moved and indexed again.

Every run records its sources in its manifest. Publishing copies the roots into the index.
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_to_bytes

import msgspec

from inorder.sinks.packed_lines import measure_lines
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.reader import decode_config, find_runs, read_line_at
from inorder.stage.sources import Roots, is_address, join_address, quote_id, quote_key

from .rows import CODE, DOCUMENT
from .schema import read_meta, write_meta

RootsByKind = dict[str, dict[str, str]]
"""For documents and for code: the path of each source root by its name, as item ids have it."""
_META, _META_READ = "source_roots", "source_roots_read"
_STAGES = ("doctags", "index")
"""The stages whose runs have sources."""


def find_roots(connection: sqlite3.Connection) -> RootsByKind:
    """The roots that the index stores; none before it is published."""
    stored = read_meta(connection, _META)
    return msgspec.json.decode(stored, type=RootsByKind) if stored else {}


def store_roots(connection: sqlite3.Connection, data: str) -> None:
    """Store the roots of the manifests, beside those of runs that the manifests no longer have, and up to which run
    the manifests were read."""
    write_meta(connection, _META, _merge_roots(connection, data))
    latest = {stage: next(find_runs(DataLayout(data, stage).manifest), None) for stage in _STAGES}
    marks = {stage: (found[0], found[1].run_id) for stage, found in latest.items() if found is not None}
    write_meta(connection, _META_READ, msgspec.json.encode(marks).decode())


def are_roots_current(connection: sqlite3.Connection, data: str) -> bool:
    """Whether `store_roots` would leave the roots as they are."""
    return read_meta(connection, _META) == _merge_roots(connection, data)


def _merge_roots(connection: sqlite3.Connection, data: str) -> str:
    stored = find_roots(connection)
    marks = read_meta(connection, _META_READ)
    known = msgspec.json.decode(marks, type=dict[str, tuple[int, str]]) if marks else {}
    merged = {kind: stored.get(kind, {}) | roots for kind, roots in read_manifest_roots(data, known).items()}
    return msgspec.json.encode(merged, order="deterministic").decode()


def read_manifest_roots(data: str, known: Mapping[str, tuple[int, str]] | None = None) -> RootsByKind:
    """The roots that runs of stages have recorded in their manifests. `known` has, for each stage, the offset and the
    id of a run: runs before it are not read."""
    documents, indexed = (_read_stage_roots(data, stage, (known or {}).get(stage)) for stage in _STAGES)
    return {CODE: indexed, DOCUMENT: indexed | documents}


def _read_stage_roots(data: str, stage: str, known: tuple[int, str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    manifest = DataLayout(data, stage).manifest
    since = known[0] if known is not None and _is_run(manifest, *known) else 0
    for _, config in find_runs(manifest, since):  # the latest run comes first and wins
        paths = Roots(config.origin.get("sources", ())).paths
        found = {quote_id(name): path for name, path in paths.items()} | found
    return found


def _is_run(manifest: str, offset: int, run_id: str) -> bool:
    """Whether a run with this id begins at this offset of a manifest."""
    if offset >= measure_lines(manifest):
        return False
    config = decode_config(read_line_at(manifest, offset))
    return config is not None and config.run_id == run_id


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


def match_copies(connection: sqlite3.Connection, copies: Sequence[tuple[str, str]], pattern: str) -> str:
    """The documents that have a copy whose path or item id matches a glob, as JSON; empty: there are none."""
    rows = msgspec.json.encode(copies).decode()
    copy, original = "json_extract(value, '$[0]')", "json_extract(value, '$[1]')"
    query = f"SELECT DISTINCT {original} FROM json_each(?) WHERE {copy} GLOB ? OR location(?, {copy}, {copy}) GLOB ?"
    found = [each for (each,) in connection.execute(query, (rows, pattern, DOCUMENT, pattern))] if copies else []
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
