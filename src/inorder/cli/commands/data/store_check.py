"""The part of `inorder verify` that compares the store of a stage with its manifest."""

import os
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from inorder.engines.attempt import escape_surrogates
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import ManifestRow
from inorder.stage.store.database import FOLDER, store_path
from inorder.stage.store.rows import StoredItem
from inorder.stage.store.verify import find_problems

MISSING, ALTERED, ORPHANED = "missing", "altered", "orphaned"
_AGAIN = "run the stage again to make it"


class StoreProblem(NamedTuple):
    """One difference between a store and its manifest."""

    kind: str
    message: str


class StoreCheck:
    """Checks the store of one stage. `is_latest`: the latest run of the stage has written to it."""

    def __init__(self, data: str, stage: str, *, is_latest: bool) -> None:
        self.relative = f"{FOLDER}/{stage}.sqlite"
        self._path = store_path(os.path.abspath(data), stage)
        self._is_latest = is_latest
        self._is_readable = os.path.exists(self._path)
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE items (doc_id TEXT PRIMARY KEY, cfg_hash, input_sha256) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def read(self) -> Iterator[StoreProblem]:
        """Check every row by itself, and remember it."""
        if not os.path.exists(self._path):
            if self._is_latest:
                yield StoreProblem(MISSING, f"the store is missing; {_AGAIN}")
            return
        try:
            for message in find_problems(self._path, self._remember):
                yield StoreProblem(ALTERED, message)
        except (OperatorError, IntegrityError, InfrastructureError) as error:
            self._is_readable = False
            yield StoreProblem(ALTERED, str(error).removeprefix(f"{self._path}: "))

    def is_kept_here(self, row: ManifestRow) -> bool:
        """Whether the result of an item is, or should be, in the store and not in files."""
        return self._is_latest or self._find(row.doc_id) is not None

    def compare(self, row: ManifestRow, *, is_fingerprinted: bool) -> Iterator[StoreProblem]:
        """Compare the row of an item in the manifest with that in the store."""
        if not self._is_readable:
            return
        found = self._find(row.doc_id)
        if found is None:
            yield StoreProblem(MISSING, f"table `items` has no result of {row.doc_id}; {_AGAIN}")
        elif is_fingerprinted and found != (row.cfg_hash, row.input_sha256):
            what = "configuration" if found[0] != row.cfg_hash else "input"
            yield StoreProblem(
                ALTERED, f"table `items`, {row.doc_id}: it has another {what} than the manifest; {_AGAIN} again"
            )

    def find_orphans(self, statuses: ItemStatuses) -> Iterator[StoreProblem]:
        """Rows that the manifest does not know."""
        for (doc_id,) in self._database.execute("SELECT doc_id FROM items"):
            if statuses.get(doc_id) is None:
                yield StoreProblem(
                    ORPHANED, f"table `items`, {doc_id}: the manifest does not have it; run the stage again"
                )

    def _remember(self, item: StoredItem) -> None:
        row = (escape_surrogates(item.item_id), item.cfg_hash, item.input_sha256)
        self._database.execute("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", row)

    def _find(self, doc_id: str) -> tuple[str, str] | None:
        query = "SELECT cfg_hash, input_sha256 FROM items WHERE doc_id = ?"
        found: tuple[str, str] | None = self._database.execute(query, (doc_id,)).fetchone()
        return found
