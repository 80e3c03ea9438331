"""Lines that are kept compressed: the same text at the same offsets, whatever is packed and when the power fails."""

import zlib
from pathlib import Path

import pytest

from inorder.errors import IntegrityError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.zstd import load_zstd
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from inorder.sinks import packed_lines
from inorder.sinks.base import Position
from inorder.sinks.checksums import PrefixChecksums
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.packed_lines import PackedFile, checksum_lines, decode_head, open_lines, pack_lines

pytestmark = pytest.mark.req("RUN-7")

LINES = [b'{"stage":"count","doc_id":"%d","words":%d}\n' % (number, number**3) for number in range(40)]
TEXT = b"".join(LINES)
PATH = "data/count.jsonl"


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack from the first line on, a few lines per frame."""
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1)
    monkeypatch.setattr(packed_lines, "_FRAME_BYTES", 150)


def write_lines(disk: Disk, *parts: bytes, pending: bytes = b"") -> PackedFile:
    """Write lines, and pack after every part of them."""
    file = PackedFile(disk, PATH)
    for part in parts:
        file.append(part)
        file.pack("count")
    file.append(pending)
    return file


def new_disk() -> Disk:
    disk = Disk(medium=Medium(sector_bytes=512))
    disk.make_directory("data")
    return disk.crash(lambda ways: 0)


@pytest.mark.parametrize("cuts", [(0,), (40,), (7, 40), (7, 8, 30), (20, 20)], ids=str)
def test_offsets_are_those_of_the_whole_text(cuts: tuple[int, ...]) -> None:
    disk = new_disk()
    starts = (0, *cuts)
    parts = [b"".join(LINES[start:end]) for start, end in zip(starts, cuts, strict=False)]
    file = write_lines(disk, *parts, pending=b"".join(LINES[cuts[-1] :]))
    for opened in (file, PackedFile(disk, PATH)):
        assert opened.size == len(TEXT)
        for offset in range(0, len(TEXT) + 60, 29):
            for size in (0, 1, 50, 400, len(TEXT)):
                assert opened.read(offset, size) == TEXT[offset : offset + size]
        for size in (0, 100, len(TEXT) // 2, len(TEXT)):
            assert PrefixChecksums(opened, opened.packed_prefix).checksum(size) == PrefixChecksums(opened).checksum(
                size
            )


def test_a_line_that_is_longer_than_a_frame_or_not_complete_is_kept() -> None:
    disk = new_disk()
    long = b'"' + b"x" * 1000 + b'"\n'
    write_lines(disk, LINES[0] + long + LINES[1] + b'{"stage"', pending=b":1}\n" + LINES[2])
    expected = LINES[0] + long + LINES[1] + b'{"stage":1}\n' + LINES[2]
    file = PackedFile(disk, PATH)
    assert file.read(0, 5000) == expected
    file.pack("count")
    assert file.read(0, 5000) == expected
    assert file.packed_prefix[0] == len(expected)


@pytest.mark.parametrize("size", [len(TEXT), len(TEXT) - 5, 700, 1, 0])
def test_a_cut_among_packed_lines_unpacks_what_is_before_it(size: int) -> None:
    disk = new_disk()
    file = write_lines(disk, b"".join(LINES[:30]), pending=b"".join(LINES[30:]))
    file.truncate(size)
    file.append(b"more\n")
    file.sync()
    assert file.read(0, 10**6) == TEXT[:size] + b"more\n"
    assert PackedFile(disk, PATH).read(0, 10**6) == TEXT[:size] + b"more\n"
    file.pack("count")
    assert PackedFile(disk, PATH).read(0, 10**6) == TEXT[:size] + b"more\n"


@pytest.mark.slow
@pytest.mark.req("JRN-6")
@pytest.mark.parametrize("is_packed", [False, True], ids=["first", "again"])
def test_no_line_is_lost_whenever_the_power_fails(is_packed: bool) -> None:
    disk = new_disk()
    file = write_lines(disk, *([b"".join(LINES[:20])] if is_packed else []), pending=b"".join(LINES[20 * is_packed :]))
    file.sync()
    disk.sync_directory("data")
    moments: list[Disk] = []
    disk.on_operation = lambda *_: moments.append(disk.copy())
    file.pack("count")
    disk.on_operation = None
    assert len(moments) > 5
    for moment in [*moments, disk]:
        for found in moment.states(limit=20):
            left = PackedFile(found, PATH)
            assert left.read(0, 10**6) == TEXT
            left.pack("count")
            assert left.read(0, 10**6) == TEXT


def test_a_full_disk_leaves_the_lines_as_they_are() -> None:
    disk = new_disk()
    write_lines(disk, pending=TEXT).close()
    disk.faults = DiskFaults(capacity_bytes=len(TEXT) + 10)
    warnings: list[str] = []
    pack_lines(disk, PATH, "count", warnings.append)
    assert warnings == [f"the rows of {PATH} are not compressed: No space left on device"]
    disk.faults = DiskFaults()
    assert disk.read(PATH) == TEXT


def test_other_tools_read_the_packed_lines(tmp_path: Path) -> None:
    path = tmp_path / "count.jsonl"
    path.write_bytes(TEXT)
    warnings: list[str] = []
    pack_lines(SystemFilesystem(), str(path), "count", warnings.append)
    assert not warnings
    with load_zstd().open(f"{path}.zst", "rb") as file:
        assert file.read() == TEXT
    head, _ = decode_head(path.read_bytes())
    assert head is not None
    assert (head.stage, head.status, head.file) == ("count", "packed", "count.jsonl.zst")
    with open_lines(str(path)) as lines:
        assert lines.readlines() == LINES
        assert lines.seek(len(LINES[0])) == len(LINES[0])
        assert lines.readline() == LINES[1]
    assert checksum_lines(str(path), len(TEXT)) == zlib.crc32(TEXT)
    assert checksum_lines(str(path), len(TEXT) + 1) is None


def test_few_lines_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", len(TEXT) + 1)
    path = tmp_path / "count.jsonl"
    path.write_bytes(TEXT)
    pack_lines(SystemFilesystem(), str(path), "count", [].append)
    assert path.read_bytes() == TEXT
    assert [each.name for each in tmp_path.iterdir()] == ["count.jsonl"]


@pytest.mark.parametrize("damage", ["missing", "short", "altered", "ends early"])
def test_damage_to_the_packed_lines_is_an_error(tmp_path: Path, damage: str) -> None:
    path, packed = tmp_path / "count.jsonl", tmp_path / "count.jsonl.zst"
    path.write_bytes(TEXT)
    pack_lines(SystemFilesystem(), str(path), "count", [].append)
    content = packed.read_bytes()
    match damage:
        case "missing":
            packed.unlink()
        case "short":
            packed.write_bytes(content[: len(content) // 2])
        case "altered":
            packed.write_bytes(b"\x00" * 8 + content[8:])
        case "ends early":
            packed.write_bytes(load_zstd().compress(TEXT[:100]))
    with pytest.raises(IntegrityError, match=r"count\.jsonl\.zst is (damaged|missing).*restore it from a backup"):
        PackedFile(SystemFilesystem(), str(path)).read(0, 10**6)
    with pytest.raises(IntegrityError, match="restore it from a backup"), open_lines(str(path)) as lines:
        lines.readlines()
    assert packed.exists() == (damage != "missing")


@pytest.mark.parametrize("pending", [b"", b'{"stage":"co'])
def test_a_new_run_begins_after_packed_lines_without_reading_them(tmp_path: Path, pending: bytes) -> None:
    path, packed = tmp_path / "count.jsonl", tmp_path / "count.jsonl.zst"
    path.write_bytes(TEXT)
    pack_lines(SystemFilesystem(), str(path), "count", [].append)
    packed.write_bytes(b"what is read fails")
    with path.open("ab") as file:
        file.write(pending)
    sink = ManifestSink(SystemFilesystem(), str(path), lambda entry: {}, appends=True)
    assert sink.origin() == Position(0, len(TEXT), zlib.crc32(TEXT))
    sink.close()
