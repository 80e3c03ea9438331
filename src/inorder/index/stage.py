"""The stage `index`: source code, and the chunks of documents, into one database.

An item is one file. It is done if the published database has it with the same content and configuration. What it owns
is made by a worker, from the source with a grammar or from the chunks that `chunk` has made, and written when its turn
comes. Files that are in the database and are not there any more are items, too: they come last, and take away what they
own.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from inorder.code.discovery import discover
from inorder.code.grammars import grammar_version
from inorder.core.windows.plan import IdentitySet
from inorder.documents.layout import Made, chunked
from inorder.runtime.identity import digest_of
from inorder.stage.contracts import Stage, StageOptions, StagePlan, WorkItem
from inorder.stage.freshness import UNCHANGED
from inorder.stage.sources import Roots

from .connection import opened
from .draft import NAME, IndexSink, publish, published
from .worker import dense_beside, work

SCHEMA_VERSION = 1
_TIMEOUT_S = 60.0
_MEMORY_BYTES = 4 * 2**30
_BYTES_PER_COST = 20_000


def plan(sources: list[Path], data: Path) -> StagePlan:
    """The files of the sources, and every document with chunks."""
    items = _Items(Roots(sources), os.path.abspath(data))
    return StagePlan(NAME, items, judge=items.judge, expected_items=items.expected())


class _Items:
    """The items, as often as they are wanted, and what the published database knows of them."""

    def __init__(self, roots: Roots, data: str) -> None:
        self._roots = roots
        self._data = data

    def __iter__(self) -> Iterator[WorkItem]:
        planned = IdentitySet()
        for made in chunked(self._data):
            planned.add(made.doc_id)
            yield self._document(made)
        for found in discover(self._roots):
            if found.path.startswith(f"{self._data}/") or found.item_id in planned:
                continue
            planned.add(found.item_id)
            language = found.language or ""
            yield WorkItem(
                item_id=found.item_id,
                inputs={} if found.skip else {"source": found.path},
                cfg_hash=digest_of(NAME, str(SCHEMA_VERSION), grammar_version(language)),
                cost_hint=1.0 + found.size / _BYTES_PER_COST,
                meta={"task": "code", "language": language, "skip": found.skip, "path": found.path},
                batch_key=language,
            )
        yield from self._gone(planned)

    def expected(self) -> int:
        """About how many there are: what was there the last time, or every file that is not hidden."""
        database = self._database()
        if database is not None:
            [count] = database.execute("SELECT COUNT(*) FROM files").fetchone()
            return int(count)
        documents = sum(1 for _ in chunked(self._data))
        return max(documents, sum(map(_files_in, self._roots.paths.values())))

    def judge(self, item: WorkItem, sha256_of: Callable[[str], str]) -> str:
        """Whether the published database has it as it is."""
        if item.meta["task"] == "gone" or item.meta.get("skip"):
            return ""
        database = self._database()
        if database is None:
            return ""
        row = database.execute("SELECT sha256, cfg_hash FROM files WHERE item_id = ?", (item.item_id,)).fetchone()
        if row is None or row[1] != item.cfg_hash:
            return ""
        try:
            hashes = [sha256_of(os.fspath(path)) for path in item.inputs.values()]
        except OSError:
            return ""
        return UNCHANGED if row[0] == digest_of(*hashes) else ""

    def _document(self, made: Made) -> WorkItem:
        dense = dense_beside(self._data, made.doc_id)
        return WorkItem(
            item_id=made.doc_id,
            inputs={"chunks": made.path} | ({"dense": dense} if os.path.exists(dense) else {}),
            cfg_hash=digest_of(NAME, str(SCHEMA_VERSION), "document"),
            cost_hint=1.0 + made.size / _BYTES_PER_COST,
            meta={"task": "document"},
            batch_key="document",
        )

    def _gone(self, planned: IdentitySet) -> Iterator[WorkItem]:
        """What is in the published database, belongs to these sources or to documents, and was not found."""
        database = self._database()
        if database is None:
            return
        for item_id, kind in database.execute("SELECT item_id, kind FROM files ORDER BY item_id"):
            if item_id not in planned and (kind == "document" or self._roots.has(item_id)):
                yield WorkItem(item_id=item_id, meta={"task": "gone"}, batch_key="gone")

    def _database(self) -> sqlite3.Connection | None:
        return opened(published(self._data)) if os.path.exists(published(self._data)) else None


def _files_in(root: str) -> int:
    count = 0
    for _, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        count += len(files)
    return count


def sinks(data: Path) -> list[IndexSink]:
    """The database in the making."""
    return [IndexSink(os.fspath(data))]


stage = Stage(
    name=NAME,
    plan=plan,
    worker=work,
    sinks=sinks,
    finish=lambda data: publish(os.fspath(data)),
    options=StageOptions(policy="cpu", per_item_timeout_s=_TIMEOUT_S, memory_bytes_max=_MEMORY_BYTES),
)
