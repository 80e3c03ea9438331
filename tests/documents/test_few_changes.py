"""Few of many documents have changed: only these are opened and checked, and the results are those of a fresh run."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.doctags import stage as doctags
from inorder.documents.embed import worker as embed_worker
from inorder.index import locations
from inorder.stage import file_stat
from inorder.stage.contracts import WorkItem
from inorder.stage.manifest.reader import find_last_run
from inorder.stage.plan_reader import TaskMaker
from inorder.stage.store.codec import RAW
from inorder.stage.store.database import StoreReader, close_readers, open_store, store_path
from inorder.stage.unchanged import spliced_manifest
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE
from tests.index.published import read_connected

pytestmark = pytest.mark.req("STL-1", "DAT-1")
STAGES = ("doctags", "chunk", "embed", "index")
NAMES = [f"{number:02}.md" for number in range(10, 22)]
VOLATILE = {"duration_s", "status", "reason", "attempts", "warnings", "input_path"}


class Changes(StageRuns):
    """Runs of all stages, and the items that were opened or checked by the last one."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.opened: list[str] = []
        self.checked: list[str] = []
        self.counted: list[str] = []
        """Once for each time that the vectors of all documents were counted."""
        read_head, make, count_corpus = doctags.read_head, TaskMaker.make, embed_worker.count_corpus

        def read(path: str, count: int) -> bytes:
            self.opened.append(os.path.basename(path))
            return read_head(path, count)

        def check(tasks: TaskMaker, item: WorkItem) -> Any:
            self.checked.append(item.item_id)
            return make(tasks, item)

        def count(data: str, families: Sequence[str]) -> Any:
            self.counted.append(data)
            return count_corpus(data, families)

        monkeypatch.setattr(embed_worker, "count_corpus", count)
        monkeypatch.setattr(doctags, "read_head", read)
        monkeypatch.setattr(TaskMaker, "make", check)

    def write_document(self, name: str, text: str) -> None:
        self.write(f"docs/{name}", f"# {text}\n\n{text} {PROSE}\n")

    def remove(self, name: str) -> None:
        (self.docs / name).unlink()

    def run_all(self) -> None:
        self.opened.clear()
        self.checked.clear()
        self.counted.clear()
        outcomes = [self.doctags(), self.chunk(), self.embed(dense="hash:16"), self.index()]
        assert [outcome.stop_kind for outcome in outcomes] == [None] * 4

    def read_results(self) -> dict[str, object]:
        """All results of all stages, as they are stored."""
        found: dict[str, object] = {}
        for stage in STAGES[:3]:
            store = open_store(str(self.data), stage)
            assert store is not None
            for item in store.iterate():
                content = store.read(item.item_id)
                assert content is not None
                found[f"{stage} {item.item_id}"] = item.input_sha256, item.cfg_hash, item.extras, content[1]
        with closing(sqlite3.connect(self.data / "index.sqlite")) as index:
            found["index"] = read_connected(index, self.data)
        return found

    def read_rows(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of the latest run of each stage, without those of removed items, and without what tells whether an
        item was up to date."""
        rows = {stage: [*self.rows(stage).values()] for stage in STAGES}
        kept = {
            stage: [row for row in found if "no longer in the plan" not in row["reason"]]
            for stage, found in rows.items()
        }
        kept["index"] = [
            {name: row[name] for name in ("doc_id", "seq", "cfg_hash")} for row in kept["index"] if "removed" not in row
        ]
        return {
            stage: [{n: v for n, v in row.items() if n not in VOLATILE} for row in found]
            for stage, found in kept.items()
        }


@pytest.fixture(params=[10**6, 1], ids=["written", "named"])
def runs(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Changes:
    """Documents that were written long ago, after three runs. Rows that are repeated are written again, or one line
    stands for them."""
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    monkeypatch.setattr(spliced_manifest, "REPEATED_MIN", request.param)
    monkeypatch.setattr(spliced_manifest, "_WRITTEN_BYTES_MIN", 0)  # the `__config__` row is long beside so few others
    made = Changes(tmp_path, monkeypatch)
    for name in NAMES:
        made.write_document(name, f"Title of {name}")
    for _ in range(3):
        made.run_all()
    assert (made.opened, made.checked) == ([], [])
    texts = [(made.data / "manifests" / f"{stage}.jsonl").read_bytes() for stage in STAGES]
    assert [b"__repeated__" in text for text in texts] == [request.param == 1] * 4
    return made


def change_one(runs: Changes) -> list[str]:
    runs.write_document("14.md", "Another title")
    return ["14.md"]


def add_some(runs: Changes) -> list[str]:
    names = ["00.md", "14a.md", "99.md"]
    for name in names:
        runs.write_document(name, f"New {name}")
    return names


def remove_some(runs: Changes) -> list[str]:
    for name in ("10.md", "15.md", "21.md"):
        runs.remove(name)
    return []


def rename_one(runs: Changes) -> list[str]:
    (runs.docs / "12.md").rename(runs.docs / "19b.md")
    return ["19b.md"]


def do_everything(runs: Changes) -> list[str]:
    runs.remove("11.md")
    rename_one(runs)
    change_one(runs)
    runs.write_document("00.md", "New")
    return ["00.md", "14.md", "19b.md"]


def touch_one(runs: Changes) -> list[str]:
    os.utime(runs.docs / "14.md")
    return ["14.md"]


@pytest.mark.parametrize("change", [change_one, add_some, remove_some, rename_one, do_everything, touch_one])
def test_only_what_has_changed_is_done_and_all_is_as_after_a_fresh_run(
    runs: Changes, change: Callable[[Changes], list[str]]
) -> None:
    names = change(runs)
    runs.run_all()
    assert runs.opened == names
    ids = [f"docs/{name}" for name in names]
    is_written = change is not touch_one
    embedded = [f"dense/{each}" for each in ids]
    removed = [each for each in runs.rows("index") if "removed" in runs.rows("index")[each]]
    wanted = [*ids, *ids, *embedded, "__corpus__", *ids, *removed] if is_written else ids
    assert runs.checked == wanted
    assert runs.counted == []
    fresh = copy(runs)
    fresh.data = runs.folder / "fresh"
    fresh.run_all()
    assert runs.read_results() == fresh.read_results()
    assert runs.read_rows() == fresh.read_rows()
    runs.run_all()
    assert (runs.opened, runs.checked) == ([], [])
    assert runs.read_rows() == fresh.read_rows()


def test_a_file_that_may_change_again_is_opened_again(runs: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    change_one(runs)
    later_ns = os.stat(runs.docs / "14.md").st_mtime_ns
    monkeypatch.setattr(
        file_stat.FileStat, "is_racy", property(lambda found: max(found.mtime_ns, found.ctime_ns) >= later_ns)
    )
    for _ in range(3):
        runs.run_all()
        assert runs.opened == ["14.md"]


def test_a_document_that_is_none_any_more_is_removed(runs: Changes) -> None:
    (runs.docs / "14.md").write_bytes(b"\x00\x01" * 400)
    runs.run_all()
    assert runs.opened == ["14.md"]
    assert "docs/14.md" not in runs.rows("chunk") or runs.rows("chunk")["docs/14.md"]["status"] == "skip"
    fresh = copy(runs)
    fresh.data = runs.folder / "fresh"
    fresh.run_all()
    assert runs.read_results() == fresh.read_results()


def test_every_file_is_opened_after_another_source_was_added(runs: Changes) -> None:
    runs.write("more/a.md", f"# A\n\n{PROSE}\n")
    runs.opened.clear()
    runs.doctags("docs", "more")
    assert len(runs.opened) == len(NAMES) + 1


def test_only_the_vectors_of_changed_documents_are_read(runs: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of all documents between the first and the last one of them."""
    read: list[str] = []
    unpack = StoreReader._unpack

    def note(store: StoreReader, row: Any) -> Any:
        read.append(row[0])
        return unpack(store, row)

    monkeypatch.setattr(StoreReader, "_unpack", note)
    for name in (NAMES[0], NAMES[-1]):
        runs.write_document(name, f"Another title of {name}")
    runs.run_all()
    assert {each for each in read if each.startswith("dense/")} == {f"dense/docs/{NAMES[at]}" for at in (0, -1)}


@pytest.mark.parametrize("is_there", [False, True], ids=["missing", "of another version"])
def test_all_vectors_are_counted_if_the_totals_of_the_last_run_are_not_known(runs: Changes, *, is_there: bool) -> None:
    close_readers()
    with closing(sqlite3.connect(store_path(str(runs.data), "embed"))) as store, store:
        if is_there:
            values = (2, hashlib.sha256(b"{}").digest(), RAW, b"{}")
            store.execute(
                "UPDATE items SET size = ?, sha256 = ?, codec = ?, content = ? WHERE item_id = '__corpus__'", values
            )
        else:
            store.execute("DELETE FROM items WHERE item_id = '__corpus__'")
    do_everything(runs)
    runs.run_all()
    assert len(runs.counted) == 1
    fresh = copy(runs)
    fresh.data = runs.folder / "fresh"
    fresh.run_all()
    assert runs.read_results() == fresh.read_results()
    fresh = copy(runs)
    fresh.data = runs.folder / "fresh"
    fresh.run_all()
    assert runs.read_results() == fresh.read_results()


def test_rows_of_runs_that_the_index_knows_are_not_read_again(runs: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    change_one(runs)
    runs.run_all()
    known = {stage: find_last_run(f"{runs.data}/manifests/{stage}.jsonl") for stage in ("doctags", "index")}
    read: list[int] = []
    monkeypatch.setattr(locations, "find_runs", lambda path, since=0: read.append(since) or iter(()))
    with closing(sqlite3.connect(runs.data / "index.sqlite")) as index:
        assert locations.are_roots_current(index, str(runs.data))
    assert read == [found[0] for found in known.values() if found is not None]
    assert all(read)


def test_sources_of_every_run_are_known_whatever_was_read_before(runs: Changes) -> None:
    runs.write("more/a.md", f"# A\n\n{PROSE}\n")
    runs.doctags("more")
    runs.run_all()
    (runs.data / "manifests" / "doctags.jsonl").unlink()
    runs.doctags("docs")
    runs.index()
    with closing(sqlite3.connect(runs.data / "index.sqlite")) as index:
        found = locations.find_roots(index)
    assert found["document"] == {"docs": str(runs.docs), "more": str(runs.folder / "more")}
