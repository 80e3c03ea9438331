"""A stage with a store: text in capitals, and what a reader finds of it."""

import hashlib
import sqlite3
import threading
from contextlib import closing
from errno import ENOSPC
from pathlib import Path
from typing import Any

import inorder
from inorder.journal.writer import FsyncPolicy
from inorder.stage.context import StageContext
from inorder.stage.store.database import StoreReader, store_path
from tests.stage.jobs import STAGE, Place


class StoreWorker:
    """Writes what it reads, in capitals. Fails if it reads `bad`, skips if it reads `none`, and finds no room on the
    disk if it reads `full`."""

    def __init__(self, held: str = "") -> None:
        self.called: list[str] = []
        self.opened = threading.Event()
        self._held = held

    def __call__(self, item: inorder.WorkItem, ctx: StageContext) -> Any:
        self.called.append(item.item_id)
        if item.item_id == self._held:
            assert self.opened.wait(60)
        text = Path(item.inputs["text"]).read_bytes()
        if text == b"bad":
            raise ValueError("this one is bad")
        if text == b"full":
            raise OSError(ENOSPC, "no space left on device")
        if text == b"none":
            ctx.remove_outputs()
            return inorder.Skip("there is no text")
        ctx.write_output("loud", text.upper())
        return {"letters": len(text)}


def run_stored(
    place: Place,
    data: Path,
    worker: StoreWorker,
    fsync: FsyncPolicy = "off",
    hooks: inorder.StageHooks | None = None,
    *,
    barriers: str = "",
    **options: Any,
) -> inorder.StageOutcome:
    """Run the stage for every source. Before the items in `barriers` start, those before them are committed."""
    items: list[inorder.WorkItem | inorder.Barrier] = []
    for path in sorted(place.sources.iterdir()):
        items += [inorder.Barrier()] * (path.name in barriers)
        items.append(place.item(path.name))
    plan = inorder.StagePlan(STAGE, items, retires=lambda *_: True, is_stored=True)
    return inorder.run_stage(plan, worker, place.options(data=data, fsync=fsync, telemetry=False, **options), hooks)


def read_store(data: Path, stage: str = STAGE) -> dict[str, tuple[Any, ...]]:
    """The rows of a store, with their content decompressed and compared with its hash."""
    rows = {}
    path = store_path(str(data), stage)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with closing(StoreReader(path)) as reader:
        for item in reader.iterate():
            found = reader.read(item.item_id)
            assert found is not None
            rows[item.item_id] = (item.folder, item.cfg_hash, item.input_sha256, item.extras, item.sha256, found[1])
    return rows


def hash_store(data: Path, stage: str = STAGE) -> str:
    """One hash of the rows of a store."""
    return hashlib.sha256(repr(sorted(read_store(data, stage).items(), key=repr)).encode()).hexdigest()
