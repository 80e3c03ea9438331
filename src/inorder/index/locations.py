"""Where the files of an index lie on disk.

An index identifies a file by its item id: the name of a source root and the path below it. A path is derived from it
when a question is answered, from where the root was in the latest run, and is relative to the current folder if the
file lies below it. So every path in an answer can be opened from the current folder, for documents and code alike, and
also after a root was moved and indexed again.

Every run records its sources in its manifest. Publishing copies the roots into the index. An index that was published
by an older version has none: its roots are read from the manifests.
"""

import os
import sqlite3
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

import msgspec

from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.reader import read_configs
from inorder.stage.sources import Roots, is_address, join_address, quote_id, quote_key

from .rows import CODE, DOCUMENT
from .schema import read_meta, write_meta

RootsByKind = dict[str, dict[str, str]]
"""For documents and for code: the path of each source root by its name, as item ids have it."""
_META = "source_roots"


def find_roots(connection: sqlite3.Connection, data: str) -> RootsByKind:
    """The roots that the index stores, or those of the manifests if it stores none."""
    stored = read_meta(connection, _META)
    return msgspec.json.decode(stored, type=RootsByKind) if stored else read_manifest_roots(data)


def store_roots(connection: sqlite3.Connection, data: str) -> None:
    """Store the roots of the manifests, beside those of runs that the manifests no longer have."""
    write_meta(connection, _META, _merge_roots(connection, data))


def are_roots_current(connection: sqlite3.Connection, data: str) -> bool:
    """Whether `store_roots` would change nothing."""
    return read_meta(connection, _META) == _merge_roots(connection, data)


def _merge_roots(connection: sqlite3.Connection, data: str) -> str:
    stored = find_roots(connection, data)
    merged = {kind: stored.get(kind, {}) | roots for kind, roots in read_manifest_roots(data).items()}
    return msgspec.json.encode(merged, order="deterministic").decode()


def read_manifest_roots(data: str) -> RootsByKind:
    """The roots that runs of stages have recorded in their manifests."""
    indexed = _read_stage_roots(data, "index")
    return {CODE: indexed, DOCUMENT: indexed | _read_stage_roots(data, "doctags")}


def _read_stage_roots(data: str, stage: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for config in read_configs(DataLayout(data, stage).manifest):  # the latest run comes first and wins
        paths = Roots(config.origin.get("sources", ())).paths
        found = {quote_id(name): path for name, path in paths.items()} | found
    return found


def identify_file(data: str, path: str) -> list[str]:
    """The item ids that a source file has, or would have, below the roots of DATA."""
    place = path if is_address(path) else os.path.abspath(path)
    found = []
    for name, root in read_manifest_roots(data)[DOCUMENT].items():
        if place == root:
            found.append(name)
        elif is_address(root):
            if place.startswith(f"{root.rstrip('/')}/"):
                found.append(f"{name}/{quote_key(place.removeprefix(root).lstrip('/'))}")
        elif place.startswith(f"{root.rstrip(os.sep)}{os.sep}"):
            found.append(f"{name}/{quote_id(os.path.relpath(place, root))}")
    return found


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
