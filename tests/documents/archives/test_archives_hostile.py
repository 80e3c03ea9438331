"""Hostile and damaged archives: one failed item with the reason, and everything else is done."""

import io
import itertools
import os
import random
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

import inorder
from inorder.documents.archives import limits, tars, zips
from inorder.documents.archives.listing import Listing, list_archive
from inorder.documents.archives.names import UniqueNames, find_format
from inorder.pipeline.outcome import FileCounts
from tests.documents.archives.archive_files import (
    FORMATS,
    WRITERS,
    add_member,
    make_archive,
    make_tar,
    make_zip,
)
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("ROB-1")


def list_bytes(data: bytes, ending: str = "zip") -> Listing:
    found = find_format(f"box.{ending}")
    assert found is not None
    return list_archive(io.BytesIO(data), found)


def names(listing: Listing) -> list[str]:
    return [member.name for member in listing.members]


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    return StageRuns(tmp_path)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_damaged_archive_is_one_failed_item(runs: StageRuns, ending: str) -> None:
    data = make_archive(
        ending, {f"{number}.md": random.Random(number).randbytes(2000).hex().encode() for number in range(9)}
    )
    (runs.docs / f"cut.{ending}").write_bytes(data[: len(data) // 2])
    (runs.docs / f"noise.{ending}").write_bytes(random.Random(1).randbytes(5000))
    (runs.docs / f"empty.{ending}").write_bytes(b"")
    (runs.docs / "good.md").write_text("# Good\n")
    assert runs.doctags().counts.failed == 2
    assert runs.reasons()[f"docs/empty.{ending}"] == "the file is empty"
    assert "docs/good.md" in runs.done("doctags")
    rows = runs.rows("doctags")
    failed = {name: row["error"] for name, row in rows.items() if row["status"] == "failure"}
    assert list(failed) == [f"docs/cut.{ending}", f"docs/noise.{ending}"]
    assert all(error["category"] == "input" for error in failed.values())


@pytest.mark.slow
@pytest.mark.parametrize("ending", WRITERS)
def test_the_members_before_the_damage_of_a_tar_archive_are_read(ending: str) -> None:
    data = make_archive(ending, {f"{number}.md": random.Random(number).randbytes(90_000) for number in range(20)})
    listing = list_bytes(data[: len(data) * 2 // 3], ending)
    assert "damaged after" in listing.problem
    assert names(listing) == [f"{number}.md" for number in range(len(listing.members))]
    assert (ending == "tar.bz2" and len(listing.members) > 1) or 10 <= len(listing.members) <= 13


def test_noise_in_the_middle_of_a_tar_archive_is_not_its_end() -> None:
    data = bytearray(make_tar({"a.md": b"a" * 512, "b.md": b"b" * 512, "c.md": b"c" * 512}))
    data[1024:1536] = b"\xff" * 512
    listing = list_bytes(bytes(data), "tar")
    assert names(listing) == ["a.md"]
    assert "damaged" in listing.problem


@pytest.mark.parametrize("ending", FORMATS)
def test_archives_with_flipped_bytes_never_raise(ending: str) -> None:
    data = make_archive(ending, {f"{number}.md": b"text " * 50 for number in range(5)})
    for seed in range(60):
        chosen = random.Random(seed)
        spoiled = bytearray(data)
        for _ in range(chosen.randint(1, 6)):
            spoiled[chosen.randrange(len(spoiled))] = chosen.randrange(256)
        list_bytes(bytes(spoiled[: chosen.randint(1, len(spoiled))] if seed % 3 == 0 else spoiled), ending)


@pytest.mark.slow
def test_a_member_that_unpacks_to_too_much_fails_alone(runs: StageRuns) -> None:
    bomb = make_zip({"bomb.md": b"\0" * (limits.RATIO_BYTES_MIN + 1), "a.md": b"# A\n"})
    (runs.docs / "box.zip").write_bytes(bomb)
    assert runs.doctags().counts == FileCounts(new=1, failed=1)
    assert runs.reasons() == {
        "docs/box.zip/bomb.md": "the member unpacks to more than 400 times its size (a zip bomb?)"
    }


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["tar.gz", "tar.xz", "tar.bz2", "tar.zst"])
def test_a_compressed_tar_archive_that_unpacks_to_too_much_is_refused(ending: str) -> None:
    listing = list_bytes(make_archive(ending, {"bomb.md": b"\0" * 4 * limits.RATIO_BYTES_MIN}), ending)
    assert listing.members == [] or listing.members[0].problem
    assert "unpacks to more than 400 times" in listing.problem or "too much" in listing.members[0].problem


def test_a_member_that_lies_about_its_size_fails() -> None:
    data = bytearray(make_zip({"a.md": b"text " * 100}))
    entry = data.rfind(b"PK\x01\x02")
    struct.pack_into("<L", data, entry + 24, 100)
    [member] = list_bytes(bytes(data)).members
    archive = zips.ZipArchive(io.BytesIO(bytes(data)))
    with pytest.raises(Exception, match=r"unpacked|damaged"):
        archive.read(0, member.fingerprints[0], ())


def test_members_that_overlap_are_refused() -> None:
    data = bytearray(make_zip({"a.md": b"a" * 100, "b.md": b"b" * 100}, compression=zipfile.ZIP_STORED))
    first = data.find(b"PK\x01\x02")
    second = data.find(b"PK\x01\x02", first + 1)
    struct.pack_into("<L", data, second + 42, 0)
    assert "overlap" in list_bytes(bytes(data)).problem


def test_an_archive_with_too_many_members_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MEMBERS_MAX", 3)
    assert list_bytes(make_zip({f"{number}.md": b"x" for number in range(3)})).problem == ""
    assert "more than 3 members" in list_bytes(make_zip({f"{number}.md": b"x" for number in range(4)})).problem
    nested = make_zip({"a.zip": make_zip({"1.md": b"x", "2.md": b"y"}), "b.md": b"z"})
    assert "more than 3 members" in list_bytes(nested).problem


def test_an_archive_with_too_much_in_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TOTAL_BYTES_MAX", 10)
    assert "more than 10 bytes" in list_bytes(make_zip({"a.md": b"x" * 11})).problem
    assert "more than 10 bytes" in list_bytes(make_tar({"a.md": b"x" * 11}), "tar").problem


def test_a_directory_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "DIRECTORY_BYTES_MAX", 100)
    files = {f"{number}.md": b"x" for number in range(3)}
    assert "the directory of the archive has more than 100 bytes" in list_bytes(make_zip(files)).problem


def test_a_header_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tars, "HEADER_BYTES_MAX", 1000)
    listing = list_bytes(make_tar({"a.md": b"x", "b" * 2000: b"y"}, format=tarfile.PAX_FORMAT), "tar")
    assert "a header has more than 1,000 bytes" in listing.problem
    assert names(listing) == ["a.md"]


@pytest.mark.slow
def test_paths_that_lead_out_of_the_archive_are_quoted(runs: StageRuns) -> None:
    files = {"../../up.md": b"# Up\n", "/etc/motd.md": b"# Root\n", "a/../../b.md": b"# B\n", "x\n\x1b[2J.md": b"# X\n"}
    (runs.docs / "box.zip").write_bytes(make_zip(files))
    (runs.docs / "box.tar").write_bytes(make_tar({name: content + b"In tar.\n" for name, content in files.items()}))
    assert runs.doctags().counts == FileCounts(new=8)
    found = ["%2E%2E/%2E%2E/up.md", "etc/motd.md", "a/%2E%2E/%2E%2E/b.md", "x%0A%1B[2J.md"]
    assert runs.done("doctags") == {f"docs/box.{ending}/{name}" for ending in ("zip", "tar") for name in found}
    inorder.open(runs.data).export(runs.folder / "out", "documents", "files")
    written = [*runs.folder.rglob("up.md*")]
    assert len(written) == 4
    assert all(path.is_relative_to(runs.folder / "out/doctags/docs") for path in written)


def test_members_of_the_same_name_are_two_documents(runs: StageRuns) -> None:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as packed:
        for text in (b"# One\n", b"# Two\n", b"# Three\n"):
            add_member(packed, "a.md", text)
        add_member(packed, "./a~2.md", b"# Four\n")
    (runs.docs / "box.tar").write_bytes(written.getvalue())
    assert runs.doctags().counts == FileCounts(new=4)
    assert runs.done("doctags") == {f"docs/box.tar/{name}" for name in ("a.md", "a~2.md", "a~3.md", "a~2~2.md")}


def test_many_members_of_the_same_name_take_no_longer_than_others() -> None:
    unique = UniqueNames()
    assert [unique.make("a.md") for _ in range(50_000)][-1] == "a~50000.md"


def test_names_in_other_encodings_are_kept(runs: StageRuns) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as packed:
        packed.writestr("Übung.md", "# Marked as UTF-8\n")
        packed.writestr("xxxx.md", "# Not marked\n")
        packed.writestr("yyyy.md", "# Code page 437\n")
    data = written.getvalue().replace(b"xxxx.md", "éè.md".encode()).replace(b"yyyy.md", b"\x81\x84zz.md")
    (runs.docs / "box.zip").write_bytes(data)
    (runs.docs / "box.tar").write_bytes(make_tar({os.fsdecode(b"\xff.md"): b"# Bytes\n"}))
    assert runs.doctags().counts.failed == 0
    found = ["zip/Übung.md", "zip/éè.md", "zip/üäzz.md", "tar/%FF.md"]
    assert runs.done("doctags") == {f"docs/box.{name}" for name in found}


@pytest.mark.slow
def test_an_encrypted_member_fails_and_is_read_with_its_password(runs: StageRuns) -> None:
    (runs.docs / "box.zip").write_bytes(ENCRYPTED)
    runs.doctags()
    assert runs.reasons() == {"docs/box.zip/a.txt": "the member is encrypted; --password-file can name passwords"}
    passwords = runs.folder / "passwords"
    passwords.write_text("wrong\nopen sesame\n")
    assert runs.doctags(password_file=str(passwords)).counts == FileCounts(changed=1)


def encrypt(content: bytes, password: bytes) -> bytes:
    """Traditional encryption of ZIP archives, which the standard library only reads."""
    data = bytearray(make_zip({"a.txt": content}, compression=zipfile.ZIP_STORED))
    crc = struct.unpack_from("<L", data, 14)[0]
    keys = _Keys()
    for byte in password:
        keys.update(byte)
    plain = bytes(11) + bytes([crc >> 24]) + content
    packed = bytearray()
    for byte in plain:
        packed.append(byte ^ keys.next_byte())
        keys.update(byte)
    begin = 30 + len("a.txt")
    data[begin : begin + len(content)] = packed
    directory = data.rfind(b"PK\x01\x02")
    for place in (6, directory + 8):
        struct.pack_into("<H", data, place, 1)
    for place in (18, directory + 20):
        struct.pack_into("<L", data, place, len(packed))
    struct.pack_into("<L", data, data.rfind(b"PK\x05\x06") + 16, directory)
    return bytes(data)


class _Keys:
    def __init__(self) -> None:
        self._keys = [0x12345678, 0x23456789, 0x34567890]

    def next_byte(self) -> int:
        found = self._keys[2] | 2
        return ((found * (found ^ 1)) >> 8) & 0xFF

    def update(self, byte: int) -> None:
        first, second, third = self._keys
        first = _add_byte(first, byte)
        second = (second + (first & 0xFF)) * 134775813 + 1 & 0xFFFFFFFF
        self._keys = [first, second, _add_byte(third, second >> 24)]


def _add_byte(crc: int, byte: int) -> int:
    return (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]


def _make_entry(number: int) -> int:
    for _ in range(8):
        number = (number >> 1) ^ (0xEDB88320 if number & 1 else 0)
    return number


_TABLE = list(itertools.accumulate(range(256), lambda _, number: _make_entry(number), initial=0))[1:]
ENCRYPTED = encrypt(b"The treasure is below.\n", b"open sesame")


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_member_without_a_name_costs_none_of_the_others(is_nested: bool) -> None:
    data = make_zip({"a.md": b"# One", "": b"two", "b.md": b"# Three"})
    if is_nested:
        data = make_zip({"x.md": b"# Outer", "box.zip": data})
    expected = ["x.md", "box.zip/a.md", "box.zip/%00", "box.zip/b.md"] if is_nested else ["a.md", "%00", "b.md"]
    listing = list_bytes(data)
    assert (names(listing), listing.problem) == (expected, "")
