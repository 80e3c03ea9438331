"""Manifests: their bytes, their readers, and what they refuse."""

import threading
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inorder.core.transitions import State
from inorder.errors import BusyError, InfrastructureError, IntegrityError, InvariantViolation, OperatorError
from inorder.host.filesystem import SystemFile, SystemFilesystem
from inorder.sinks.base import Entry, Position
from inorder.sinks.checksums import BLOCK_BYTES
from inorder.sinks.manifest import ManifestSink, complete_lines, open_manifest
from tests.sinks.harnesses import HEAD, CountedFile, ManifestHarness, row_of

ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
OUTCOMES = (State.TERMINAL_SUCCESS, State.TERMINAL_SKIP, State.TERMINAL_FAIL)


def entries(start: int, end: int) -> list[Entry]:
    return [Entry(seq, OUTCOMES[seq % 3], payload=f"result {seq}") for seq in range(start, end)]


def manifest(path: Path, row: Callable[[Entry], dict[str, Any]] = row_of) -> ManifestSink:
    return ManifestSink(SystemFilesystem(), str(path), row, head=HEAD)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "manifest.jsonl"


# ---- bytes


@pytest.mark.req("RUN-7")
def test_a_row_for_every_item_whatever_became_of_it_in_seq_order_after_the_head(path: Path) -> None:
    sink = manifest(path, lambda entry: {"seq": entry.seq, "status": State(entry.outcome).name})
    sink.apply(entries(0, 2))
    sink.apply(entries(2, 4))
    assert path.read_text() == (
        '{"row":"__config__","cfg_hash":"c0ffee"}\n'
        '{"seq":0,"status":"TERMINAL_SUCCESS"}\n'
        '{"seq":1,"status":"TERMINAL_SKIP"}\n'
        '{"seq":2,"status":"TERMINAL_FAIL"}\n'
        '{"seq":3,"status":"TERMINAL_SUCCESS"}\n'
    )


def test_fields_stand_as_the_row_names_them_and_what_is_in_them_is_sorted(path: Path) -> None:
    sink = manifest(path, lambda entry: {"z": {"b": 1, "a": {"f", "e", "d"}}, "a": "line\nbreak \x00 ü", "": None})
    sink.apply(entries(0, 1))
    assert path.read_bytes().splitlines()[1] == (
        '{"z":{"a":["d","e","f"],"b":1},"a":"line\\nbreak \\u0000 ü","":null}'.encode()
    )


def test_rows_with_the_same_fields_in_another_order_keep_their_own(path: Path) -> None:
    rows = ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1})
    sink = manifest(path, lambda entry: rows[entry.seq])
    sink.apply(entries(0, 3))
    assert path.read_bytes().splitlines()[1:] == [b'{"a":1,"b":2}', b'{"b":2,"a":1}', b'{"a":1}']


@pytest.mark.req("COM-1", "RUN-7")
def test_the_head_goes_out_with_the_first_run_in_one_append(tmp_path: Path) -> None:
    harness = ManifestHarness(tmp_path)
    sink = harness.open()
    assert harness.content() == b""
    sink.apply(entries(0, 3))
    assert harness.write_count() == 1
    sink.apply(entries(3, 1000))
    assert harness.write_count() == 2
    assert len(harness.path.read_bytes().splitlines()) == len(HEAD) + 1000


def test_rolled_back_to_nothing_the_file_is_empty_and_gets_its_head_again(path: Path) -> None:
    sink = manifest(path)
    sink.apply(entries(0, 5))
    whole = path.read_bytes()
    sink.roll_back(Position(), ())
    assert path.read_bytes() == b""
    sink.apply(entries(0, 5))
    assert path.read_bytes() == whole


def test_writing_never_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CountedFile, "read", lambda *arguments: pytest.fail("it was read"))
    sink = ManifestHarness(tmp_path).open()
    sink.apply(entries(0, 5))
    sink.apply(entries(5, 9))
    sink.sync()


# ---- what cannot be written


@pytest.mark.parametrize(
    "value",
    [object(), "\ud800", ENDLESS, msgspec.Raw(b"[\n]"), {1.5: {"x": object()}}],
    ids=["object", "surrogate", "endless", "line break", "nested"],
)
def test_a_value_that_cannot_be_written_is_named_and_nothing_of_its_run_is_written(path: Path, value: Any) -> None:
    sink = manifest(path, lambda entry: {"seq": entry.seq, "extra": value if entry.seq == 7 else 1})
    sink.apply(entries(0, 3))
    before = path.read_bytes()
    with pytest.raises(OperatorError, match=r"row of seq 7: field 'extra' cannot be written"):
        sink.apply(entries(3, 9))
    assert path.read_bytes() == before
    sink.apply(entries(3, 7))


def test_a_field_that_has_no_name_is_refused(path: Path) -> None:
    with pytest.raises(OperatorError, match="row of seq 0: field 3 cannot be written"):
        manifest(path, lambda entry: {3: "three"}).apply(entries(0, 1))  # type: ignore[dict-item]


def test_a_head_that_cannot_be_written_is_refused_before_anything_is_opened(path: Path) -> None:
    with pytest.raises(OperatorError, match="field 'secret' cannot be written"):
        ManifestSink(SystemFilesystem(), str(path), row_of, head=[{"secret": object()}])
    assert not path.exists()


# ---- opening again


def test_a_manifest_with_rows_takes_nothing_before_it_is_told_where_it_stands(path: Path) -> None:
    first = manifest(path)
    position = first.apply(entries(0, 3))
    first.close()
    sink = manifest(path)
    with pytest.raises(InvariantViolation, match="sink manifest must be rolled back before it is used"):
        sink.apply(entries(0, 3))
    sink.roll_back(position, ())
    assert sink.apply(entries(3, 4)).end == 4


def test_a_torn_end_is_cut(path: Path) -> None:
    first = manifest(path)
    position = first.apply(entries(0, 3))
    whole = path.read_bytes()
    first.close()
    path.write_bytes(whole + b'{"seq":3,"sta')
    sink = manifest(path)
    assert sink.holds(position, ())
    sink.roll_back(position, ())
    assert path.read_bytes() == whole


def test_a_new_run_begins_after_the_last_complete_row_of_the_one_before(path: Path) -> None:
    """The run before was killed in the middle of an append."""
    path.write_bytes(b'{"seq":0}\n{"seq":1}\n{"seq":2,"sta')
    sink = ManifestSink(SystemFilesystem(), str(path), row_of, appends=True)
    origin = sink.origin()
    assert origin == Position(0, 20, zlib.crc32(b'{"seq":0}\n{"seq":1}\n'))
    sink.roll_back(origin, ())
    assert path.read_bytes() == b'{"seq":0}\n{"seq":1}\n'
    sink.close()


@pytest.mark.slow
def test_a_position_is_not_held_when_a_byte_before_it_differs_or_is_missing(path: Path) -> None:
    first = manifest(path)
    position = first.apply(entries(0, 3))
    whole = path.read_bytes()
    for offset in range(len(whole)):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 1]) + whole[offset + 1 :])
        assert not is_held(path, position)
        path.write_bytes(whole[:offset])
        assert not is_held(path, position)
    path.write_bytes(whole + b"more")
    assert is_held(path, position)


def is_held(path: Path, position: Position) -> bool:
    with closing(manifest(path)) as sink:
        return sink.holds(position, ())


def test_what_it_found_in_the_file_is_forgotten_when_the_file_changes(path: Path) -> None:
    sink = manifest(path)
    first = sink.apply(entries(0, 3))
    assert sink.holds(first, ())
    second = sink.apply(entries(3, 6))
    assert sink.holds(second, ())
    sink.roll_back(first, ())
    sink.apply([Entry(3, State.TERMINAL_SUCCESS, payload="something much longer than before" * 20)])
    assert not sink.holds(second, ())
    assert sink.holds(first, ())


def test_rolling_back_to_where_it_never_was_is_refused(path: Path) -> None:
    with pytest.raises(IntegrityError, match="has 0 bytes, but 100 were written"):
        manifest(path).roll_back(Position(3, 100, 5), ())


@pytest.mark.slow
def test_many_positions_are_asked_about_and_the_file_is_read_twice_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = ManifestHarness(tmp_path)
    sink = harness.open()
    long = "x" * 10_000
    positions = [sink.apply([Entry(seq, State.TERMINAL_SUCCESS, payload=long)]) for seq in range(500)]
    sink.close()
    sink = harness.open()
    reads = count_reads(monkeypatch)
    assert all(sink.holds(position, ()) for position in reversed(positions))
    assert max(reads) <= BLOCK_BYTES
    assert sum(reads) <= 2 * positions[-1].offset + BLOCK_BYTES
    sink.roll_back(positions[3], ())
    assert not sink.holds(positions[4], ())


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all reads from now on."""
    reads: list[int] = []
    read = SystemFile.read

    def counted(self: SystemFile, offset: int, size: int) -> bytes:
        reads.append(size)
        return read(self, offset, size)

    monkeypatch.setattr(CountedFile, "read", counted)
    return reads


@pytest.mark.parametrize("damage", ["shorter", "changed"])
def test_a_file_that_lost_or_changed_bytes_does_not_hold_its_position(path: Path, damage: str) -> None:
    sink = manifest(path)
    position = sink.apply(entries(0, 3))
    assert sink.holds(position, ())
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] if damage == "shorter" else whole.replace(b"result 0", b"result 1"))
    assert not manifest(path).holds(position, ())


# ---- one writer


@pytest.mark.req("RUN-7")
def test_whoever_opens_it_second_is_told_that_it_is_in_use(path: Path) -> None:
    sink = open_manifest(str(path), row_of, head=HEAD)
    with pytest.raises(BusyError, match=r"manifest\.jsonl is in use by process \d+ on ") as caught:
        open_manifest(str(path), row_of)
    assert caught.value.exit_code == 5
    sink.apply(entries(0, 2))
    sink.close()
    sink.close()
    open_manifest(str(path), row_of).close()


def test_a_manifest_that_cannot_be_opened_stays_unlocked(path: Path) -> None:
    path.mkdir()
    for _ in range(2):
        with pytest.raises(InfrastructureError, match=r"manifest\.jsonl cannot be opened"):
            open_manifest(str(path), row_of)


# ---- readers


class Dribble(SystemFile):
    """Appends byte by byte, and has somebody look after each."""

    look: Callable[[], None]

    def append(self, data: bytes) -> None:
        for number in range(len(data)):
            super().append(data[number : number + 1])
            self.look()


class Dribbling(SystemFilesystem):
    """As if every append were torn at every place."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look

    def open(self, path: str) -> SystemFile:
        file = Dribble(path)
        file.look = self._look
        return file


def seqs_in(data: bytes) -> list[int]:
    """What a reader makes of it."""
    rows = [msgspec.json.decode(line) for line in complete_lines(data)]
    assert rows[:1] in ([], [*HEAD])
    return [row["seq"] for row in rows[1:]]


@pytest.mark.req("RUN-7")
def test_a_reader_at_any_moment_of_an_append_finds_whole_rows_and_at_most_an_unfinished_last_one(path: Path) -> None:
    seen: list[list[int]] = []
    sink = ManifestSink(Dribbling(lambda: seen.append(seqs_in(path.read_bytes()))), str(path), row_of, head=HEAD)
    sink.apply(entries(0, 3))
    sink.apply(entries(3, 7))
    assert len(seen) > 500
    assert all(seqs == list(range(len(seqs))) for seqs in seen)
    assert seen[-1] == list(range(7))


@pytest.mark.slow
@pytest.mark.req("RUN-7")
def test_a_hundred_readers_while_it_is_written_never_find_a_torn_row(path: Path) -> None:
    sink = open_manifest(str(path), row_of, head=HEAD)
    everybody, is_done = threading.Barrier(101), threading.Event()
    wrong: list[BaseException] = []

    def read_until_done() -> None:
        everybody.wait()
        try:
            while True:
                last = is_done.is_set()
                seqs = seqs_in(path.read_bytes())
                assert seqs == list(range(len(seqs)))
                if last:
                    assert len(seqs) == 600
                    return
        except BaseException as error:
            wrong.append(error)

    readers = [threading.Thread(target=read_until_done) for _ in range(100)]
    for reader in readers:
        reader.start()
    everybody.wait()
    for start in range(0, 600, 20):
        sink.apply(entries(start, start + 20))
    is_done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
