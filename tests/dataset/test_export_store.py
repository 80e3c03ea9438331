"""`inorder export --to ADDRESS`: an export in an object store, here that of fsspec in memory."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import msgspec
import pytest

import inorder
from inorder.dataset import ExportOutcome
from inorder.dataset.export import lease
from inorder.dataset.export.lease import ExportLease, LeaseRecord
from inorder.files import object_store
from inorder.files.addresses import parse_address
from inorder.files.object_store import ObjectStore
from inorder.host.liveness import identify_machine
from tests.dataset.chunk_store import ChunkStore, make_store, name_of
from tests.dataset.test_export import read_tree
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("DAT-2")
SMALL = 2048
TO = "memory://bucket/out"


@pytest.fixture
def memory() -> Iterator[Any]:
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


@pytest.fixture
def store(tmp_path: Path) -> ChunkStore:
    return make_store(tmp_path)


def export(store: ChunkStore, to: str | Path = TO, format_: Any = "parquet") -> ExportOutcome:
    return inorder.open(store.data).export(to, "chunks", format_, shard_bytes=SMALL)


def read_objects(memory: Any) -> dict[str, bytes]:
    """Every object of the export but those that are hidden."""
    start = len("/bucket/out/")
    return {path[start:]: memory.cat_file(path) for path in memory.find("/bucket/out") if "/.inorder/" not in path}


def read_exported(memory: Any) -> list[bytes]:
    """The shards as a reader finds them who follows the manifest."""
    manifest = json.loads(memory.cat_file("/bucket/out/_inorder.json"))
    shards = [shard for table in manifest["tables"].values() for shard in table["shards"]]
    contents = [memory.cat_file(f"/bucket/out/{shard['path']}") for shard in shards]
    assert [hashlib.sha256(content).hexdigest() for content in contents] == [shard["sha256"] for shard in shards]
    return contents


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_shards_have_the_bytes_of_a_local_export_in_the_order_of_their_names(
    store: ChunkStore, memory: Any, tmp_path: Path, format_: str
) -> None:
    outcome = export(store, format_=format_)
    export(store, tmp_path / "out", format_)
    local = read_tree(tmp_path / "out")
    found = read_objects(memory)
    assert outcome.to == TO
    assert found["README.md"] == local["README.md"]
    names = sorted(name for name in found if name.startswith("chunks/"))
    assert [found[name] for name in names] == [content for name, content in sorted(local.items()) if "part-" in name]
    assert [found[name] for name in names] == read_exported(memory)


@pytest.mark.slow
def test_only_changed_shards_are_uploaded_and_what_no_longer_belongs_is_removed(
    store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = export(store).tables["chunks"].written
    before = memory.find("/bucket/out", detail=True)
    again = export(store)
    assert (again.tables["chunks"].written, again.tables["chunks"].kept, again.removed) == (0, first, 0)
    store.put(docs_029="The lamp 29 is out. " * 6)
    third = export(store)
    assert (third.tables["chunks"].written, third.tables["chunks"].kept, third.removed) == (1, first - 1, 1)
    after = memory.find("/bucket/out", detail=True)
    same = [
        path for path in before if "part-" in path and after.get(path, {}).get("created") == before[path]["created"]
    ]
    assert len(same) == first - 1


@pytest.mark.slow
def test_whatever_updates_led_there_the_objects_are_those_of_a_first_export(store: ChunkStore, memory: Any) -> None:
    export(store)
    store.put(docs_000="another beginning " * 30, **{f"docs_000_{number}": "new " * 90 for number in range(9)})
    store.remove(*map(name_of, range(40, 60)))
    outcome = export(store)
    assert outcome.removed > 0
    changed = read_objects(memory)
    memory.store.clear()
    export(store)
    assert changed == read_objects(memory)
    assert len(read_exported(memory)) > 3


@pytest.mark.slow
def test_a_reader_who_follows_the_manifest_finds_a_complete_export_after_each_operation(
    store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export may be killed after any operation on the store. The next one needs no shard twice."""
    export(store)
    old = read_exported(memory)
    store.put(docs_000="another beginning " * 30, docs_030_new="new", docs_055="The last lamp. " * 50)
    store.remove("docs_059")
    snapshots: list[dict[str, Any]] = []
    watch_operations(monkeypatch, lambda: snapshots.append(dict(memory.store)))
    export(store)
    monkeypatch.undo()
    monkeypatch.setattr(LeaseRecord, "is_dead", lambda self: True)
    new, objects = read_exported(memory), read_objects(memory)
    uploads = {path for path in objects if "part-" in path and f"/bucket/out/{path}" not in snapshots[0]}
    seen = set()
    for number, snapshot in enumerate(snapshots):
        memory.store.clear()
        memory.store.update(snapshot)
        found = read_exported(memory)
        assert found in (old, new), number
        seen.add(found == new)
        there = {path for path in uploads if f"/bucket/out/{path}" in snapshot}
        resumed = export(store)
        assert read_objects(memory) == objects, number
        assert resumed.tables["chunks"].written <= len(uploads - there) + 1, number
        assert list(memory.find("/bucket/out/.inorder")) == list(memory.find("/bucket/out/.inorder/leases"))
    assert seen == {False, True}


def watch_operations(monkeypatch: pytest.MonkeyPatch, record: Any) -> None:
    """Call `record` before and after each change of the store."""
    for name in ("write", "create", "upload", "copy", "remove"):
        operation = getattr(ObjectStore, name)

        def run(self: ObjectStore, *arguments: Any, operation: Any = operation) -> Any:
            record()
            result = operation(self, *arguments)
            record()
            return result

        monkeypatch.setattr(ObjectStore, name, run)


def test_an_edited_card_and_other_objects_stay(store: ChunkStore, memory: Any) -> None:
    export(store)
    memory.pipe_file("/bucket/out/README.md", b"my words")
    memory.pipe_file("/bucket/out/chunks/notes.txt", b"not a shard")
    store.remove(*map(name_of, range(10, 60)))
    export(store)
    found = read_objects(memory)
    assert (found["README.md"], found["chunks/notes.txt"]) == (b"my words", b"not a shard")


@pytest.mark.slow
def test_a_card_that_an_interrupted_export_has_written_is_not_taken_for_an_edited_one(
    store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is interrupted before the manifest, the second before its card, with other documents each."""
    export(store)
    write = ObjectStore.write
    for last, text in (("_inorder.json", "one"), ("README.md", "one two three")):

        def fail(self: ObjectStore, path: str, content: bytes, last: str = last) -> None:
            if path == last:
                raise KeyboardInterrupt
            write(self, path, content)

        store.put(**{f"docs_{text[:3]}_{number}": text for number in range(len(text))})
        monkeypatch.setattr(ObjectStore, "write", fail)
        with pytest.raises(KeyboardInterrupt):
            export(store)
        monkeypatch.setattr(ObjectStore, "write", write)
    export(store)
    found = read_objects(memory)
    memory.store.clear()
    export(store)
    assert found == read_objects(memory)


def test_an_object_that_is_gone_or_was_cut_is_uploaded_again(store: ChunkStore, memory: Any) -> None:
    export(store)
    expected = read_objects(memory)
    first, second, *_ = (path for path in memory.find("/bucket/out/chunks"))
    memory.rm(first)
    memory.pipe_file(second, memory.cat_file(second)[:-1])
    assert export(store).tables["chunks"].written == 2
    assert read_objects(memory) == expected


class TestLease:
    """Two exporters at once, and what a killed one leaves."""

    @pytest.fixture(autouse=True)
    def _short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease, "_POLL_S", 0.001)
        monkeypatch.setattr(lease, "LEASE_S", 0.01)

    def open_store(self) -> ObjectStore:
        address = parse_address(TO)
        assert address is not None
        return ObjectStore(address, by="--to")

    def leave(self, memory: Any, **changed: Any) -> None:
        """The lease of a process that was killed."""
        record = LeaseRecord(token="t", pid=os.getpid(), host="h", machine="another", since_s=1.0)
        record = msgspec.structs.replace(record, **changed)
        memory.pipe_file("/bucket/out/.inorder/leases/00000007", msgspec.json.encode(record))

    def test_the_second_of_two_exporters_gets_exit_code_5(self, store: ChunkStore, memory: Any, tmp_path: Path) -> None:
        held = ExportLease(self.open_store(), "test")
        code, _, err = run_in_process(["export", "chunks", "--data", str(store.data), "--to", TO], tmp_path, {})
        assert (code, err.count("\n")) == (5, 1)
        assert f"the export {TO} is in use by process {os.getpid()} on" in err
        held.release()
        export(store)
        assert read_exported(memory)

    def test_one_of_two_that_begin_at_once_wins(self, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        create = ObjectStore.create
        first: list[ExportLease] = []

        def come_second(self: ObjectStore, path: str, content: bytes) -> bool:
            monkeypatch.setattr(ObjectStore, "create", create)
            first.append(ExportLease(self, "test"))
            return create(self, path, content)

        monkeypatch.setattr(ObjectStore, "create", come_second)
        with pytest.raises(inorder.BusyError, match="is in use by another process, which has just begun"):
            ExportLease(self.open_store(), "test")
        first[0].check()
        first[0].release()

    def test_the_lease_of_a_killed_process_of_this_machine_is_taken_over_at_once(
        self, store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lease.time, "sleep", pytest.fail)
        self.leave(memory, machine=identify_machine(), pid=2**22 - 1)
        export(store)
        self.leave(memory, machine=identify_machine(), since_s=1.0)  # a process that has its number now
        export(store)

    def test_the_lease_of_another_machine_is_taken_over_when_it_shows_no_life(
        self, store: ChunkStore, memory: Any
    ) -> None:
        self.leave(memory)
        export(store)
        assert memory.find("/bucket/out/.inorder/leases") == ["/bucket/out/.inorder/leases/00000008"]

    def test_the_lease_of_another_machine_that_lives_is_not(
        self, store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.leave(memory)
        monkeypatch.setattr(lease.time, "sleep", lambda seconds: self.leave(memory, counter=2))
        with pytest.raises(inorder.BusyError, match=r"in use by process \d+ on h since 1970-01-01T00:00:01"):
            export(store)

    @pytest.mark.slow
    def test_a_holder_that_lost_its_lease_writes_no_manifest(
        self, store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        export(store)
        before = read_exported(memory)
        store.put(docs_000="another beginning " * 30)
        upload = ObjectStore.upload

        def lose(self: ObjectStore, local: str, path: str) -> None:
            upload(self, local, path)
            self.write(".inorder/leases/00000009", b"{}")

        monkeypatch.setattr(ObjectStore, "upload", lose)
        with pytest.raises(inorder.BusyError, match="was taken over by another process"):
            export(store)
        assert read_exported(memory) == before

    def test_a_lease_is_renewed(self, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease, "_RENEWAL_S", 0.001)
        held = ExportLease(self.open_store(), "test")
        while b'"counter":0' in memory.cat_file("/bucket/out/.inorder/leases/00000001"):
            pass
        held.release()
        assert b'"is_released":true' in memory.cat_file("/bucket/out/.inorder/leases/00000001")


def test_a_store_that_is_busy_is_asked_again(store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    put = type(memory).put_file

    def refuse_twice(self: Any, *arguments: Any) -> None:
        if len(waits) < 2:
            raise OSError(16, "Please reduce your request rate.")
        put(self, *arguments)

    monkeypatch.setattr(type(memory), "put_file", refuse_twice)
    monkeypatch.setattr(object_store.time, "sleep", waits.append)
    export(store)
    assert waits == [0.5, 1.0]
    assert read_exported(memory)


@pytest.mark.slow
@pytest.mark.req("CLI-3")
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (PermissionError(13, "Access Denied"), 2, f"access to {TO} was denied: Access Denied; credentials come from"),
        (FileNotFoundError(2, "The bucket does not exist"), 2, f"{TO} does not exist: The bucket does not exist"),
        (OSError(28, "No space left on device"), 1, f"{TO} failed: No space left on device"),
        (OSError(16, "Please reduce your request rate."), 1, f"{TO} failed: Please reduce your request rate."),
        (RuntimeError("line one\nline two"), 1, f"{TO} failed: line one line two"),
    ],
)
def test_a_store_that_fails_is_one_line_and_the_export_before_stays(
    store: ChunkStore, memory: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, message: str
) -> None:
    export(store)
    before = read_exported(memory)
    store.put(docs_000="another beginning " * 30)

    def fail(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(type(memory), "put_file", fail)
    monkeypatch.setattr(object_store.time, "sleep", lambda seconds: None)
    arguments = ["export", "chunks", "--data", str(store.data), "--to", TO, "--shard-bytes", str(SMALL)]
    found, out, err = run_in_process(arguments, store.data, {})
    assert (found, out, err.count("\n")) == (code, "", 1)
    assert message in err
    assert read_exported(memory) == before


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "memory://bucket/other"], "is not empty and holds no export; choose another address with --to"),
        (["--to", TO, "--format", "files"], "--format files needs a local folder; choose parquet or jsonl"),
        (["--to", "nosuch://bucket/out"], "unknown protocol nosuch://"),
        (["--to", "gs://bucket/out"], "--to gs:// needs the package gcsfs: pip install 'inorder[gcs]'"),
        (["--to", "s3://AKIA:hidden@bucket"], "the s3:// address has a password; pass credentials through"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(
    store: ChunkStore, memory: Any, arguments: list[str], message: str
) -> None:
    memory.pipe_file("/bucket/other/notes.txt", b"something else")
    code, out, err = run_in_process(["export", "chunks", "--data", str(store.data), *arguments], store.data, {})
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert "hidden" not in err


def test_a_file_address_is_a_local_folder(store: ChunkStore, tmp_path: Path) -> None:
    outcome = export(store, f"file://{tmp_path}/out")
    assert outcome.to == str(tmp_path / "out")
    assert "chunks/part-00000.parquet" in read_tree(tmp_path / "out")


class TestContinuous:
    """`inorder run SRC --to ADDRESS`."""

    def run(self, folder: Path, *options: str) -> tuple[int, str, str]:
        return run_in_process(["run", "docs", "--quiet", "--policy", "io", *options], folder, {})

    @pytest.mark.slow
    def test_after_each_run_the_store_has_the_tables_of_data(self, memory: Any, tmp_path: Path) -> None:
        (tmp_path / "docs").mkdir()
        for text in ("The lamp is lit.", "The horn is sounded in fog."):
            (tmp_path / "docs/note.md").write_text(text)
            code, _, err = self.run(tmp_path, "--to", TO)
            assert code == 0, err
            inorder.open(tmp_path / ".inorder").export("memory://other/out")
            fresh = [memory.cat_file(path) for path in memory.find("/other/out") if "part-" in path]
            assert read_exported(memory) == fresh
            assert len(fresh) == 4

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--to", "memory://bucket/other"), "is not empty and holds no export"),
            (("--to", "nosuch://bucket/out"), "unknown protocol nosuch://"),
            (("--to", TO, "--set", "hnsw=true"), f"hnsw is for databases, and '{TO}' is an object store"),
        ],
    )
    def test_a_store_that_cannot_be_used_is_refused_before_anything_runs(
        self, memory: Any, tmp_path: Path, options: tuple[str, ...], message: str
    ) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs/note.md").write_text("The lamp is lit.")
        memory.pipe_file("/bucket/other/notes.txt", b"something else")
        code, out, err = self.run(tmp_path, *options)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
        assert not (tmp_path / ".inorder/store").exists()


def test_other_files_beside_the_leases_do_not_matter(memory: Any) -> None:
    address = parse_address("memory://bucket/leases")
    assert address is not None
    store = ObjectStore(address, by="--to")
    store.write(f"{lease.FOLDER}00000007", b"{}")
    store.write(f"{lease.FOLDER}notes.txt", b"of somebody else")
    assert lease._list_numbers(store) == [7]
