"""Results of later stages that workers of an earlier one have made, until their stages ask for them.

They are kept in memory as long as they are few. If they become many, all of them go to a database in the staging
folder.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from inorder.stage.contracts import WorkItem
from inorder.stage.fingerprints import combine_sha256
from inorder.stage.staged_results import decode_result
from inorder.stage.worker import PreparedItem, StageResult

from .inputs import StoredInput
from .lookup import BlockLookup
from .rows import encode_id

_RESULT_BYTES, _BYTES_PER_BYTE = 1000, 2
"""Memory that a result takes: for its objects, and per byte of its encoding."""
_MEMORY_BYTES = 2 * 2**20
"""Results that take more memory are kept in the database."""
_SCHEMA = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
CREATE TABLE results (
    stage TEXT, item_id TEXT, cfg_hash TEXT, input_sha256 TEXT, result BLOB, PRIMARY KEY (stage, item_id)
) WITHOUT ROWID;
BEGIN;
"""


class _KeptResult(NamedTuple):
    """A result in memory."""

    cfg_hash: str
    input_sha256: str
    result: bytes


def combine_inputs(item: WorkItem) -> str:
    """The hash of all inputs; empty: not all of them are stored results."""
    hashes = {name: each.sha256 for name, each in item.inputs.items() if isinstance(each, StoredInput)}
    return combine_sha256(hashes) if len(hashes) == len(item.inputs) else ""


class PreparedResults:
    """The prepared results of a run. Errors of the disk and the database count as a miss. Thread-safe."""

    def __init__(self, data: str | os.PathLike[str]) -> None:
        self._path = f"{os.path.abspath(data)}/.staging/prepared.sqlite"
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str | bytes], _KeptResult] = {}
        """By stage and id, until there is a database."""
        self._kept_bytes = 0
        self._connection: sqlite3.Connection | None = None
        self._lookups: dict[tuple[str, type], BlockLookup[tuple[str, str]]] = {}
        """By stage and kind of id. Valid until results are added."""

    def add(self, prepared: Sequence[PreparedItem]) -> None:
        """Keep results until their stages ask for them."""
        found = {
            (each.stage, encode_id(each.item_id)): _KeptResult(each.cfg_hash, each.input_sha256, each.result)
            for each in prepared
        }
        with self._lock, contextlib.suppress(sqlite3.Error, OSError):
            if self._connection is None and self._kept_bytes <= _MEMORY_BYTES:
                self._kept |= found
                self._kept_bytes += sum(_measure(each.result) for each in found.values())
                return
            if self._connection is None:
                found, self._kept = self._kept | found, {}
                self._connection = self._create()
            self._lookups.clear()
            rows = ((*key, *each) for key, each in found.items())
            self._connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", rows)

    def has(self, stage: str, item: WorkItem) -> bool:
        """Whether there is a result of an item with this configuration and these inputs."""
        digest = combine_inputs(item)
        if not digest:
            return False
        item_id = encode_id(item.item_id)
        key = stage, type(item_id)
        with self._lock, contextlib.suppress(sqlite3.Error):
            if (kept := self._kept.get((stage, item_id))) is not None:
                return (kept.cfg_hash, kept.input_sha256) == (item.cfg_hash, digest)
            if self._connection is None:
                return False
            if key not in self._lookups:
                self._lookups[key] = BlockLookup(partial(self._fetch_keys, stage), lambda row: (row[1], row[2]))
            return self._lookups[key].get(item_id) == (item.cfg_hash, digest)
        return False

    def take(self, stage: str, item: WorkItem) -> tuple[StageResult, int] | None:
        """The result of an item, and about how much memory it takes; None: it was lost."""
        found = self._fetch_result(stage, encode_id(item.item_id))
        result = None if found is None else decode_result(found)
        return None if found is None or result is None else (result, _measure(found))

    def close(self) -> None:
        """Forget all results, and remove the database, also that of an interrupted run. Idempotent."""
        self._kept, self._kept_bytes = {}, 0
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._remove_file()

    def _create(self) -> sqlite3.Connection:
        self._remove_file()
        connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        try:
            connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection

    def _fetch_keys(self, stage: str, item_id: str | bytes, count: int) -> list[Any]:
        if self._connection is None:
            return []
        query = (
            "SELECT item_id, cfg_hash, input_sha256 FROM results "
            f"WHERE stage = ? AND item_id >= ? ORDER BY item_id LIMIT {count}"
        )
        return self._connection.execute(query, (stage, item_id)).fetchall()

    def _fetch_result(self, stage: str, item_id: str | bytes) -> bytes | None:
        query = "SELECT result FROM results WHERE stage = ? AND item_id = ?"
        with self._lock, contextlib.suppress(sqlite3.Error):
            if (kept := self._kept.get((stage, item_id))) is not None:
                return kept.result
            if self._connection is not None and (row := self._connection.execute(query, (stage, item_id)).fetchone()):
                found: bytes = row[0]
                return found
        return None

    def _remove_file(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def _measure(result: bytes) -> int:
    """About how much memory a result takes."""
    return _RESULT_BYTES + _BYTES_PER_BYTE * len(result)
