"""The page on the bytes of a journal says what is so: its journal is made again, and read as the page says."""

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from inorder.journal.frame import MAGIC, OVERHEAD_BYTES, VERSION, RecordType
from inorder.journal.replay import FAIL, SKIP, SUCCESS
from tests.journal.dump import dump, example

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "journal-format.md").read_text(encoding="utf-8")
HEX_LINE = re.compile(r"^  ((?:[0-9a-f]{2} ?)+?)(?:  |$)", re.MULTILINE)


def shown() -> str:
    [block] = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    return str(block)


def frames(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Read a journal by what the page says and nothing else: type and body of every record."""
    while data:
        magic, version, type_, check, length = struct.unpack("<BBBHI", data[:9])
        body, (checksum,) = data[9 : 9 + length], struct.unpack("<I", data[9 + length : 13 + length])
        assert (magic, version) == (0x1E, 1)
        assert check == zlib.crc32(data[:3] + data[5:9]) & 0xFFFF
        assert checksum == zlib.crc32(data[: 9 + length])
        yield type_, body
        data = data[13 + length :]


@pytest.mark.req("JRN-1")
def test_the_journal_of_the_page_is_what_a_run_writes_today() -> None:
    expected = dump(example()).rstrip()
    if shown() != expected:
        pytest.fail(f"docs/reference/journal-format.md is stale; its dump should read:\n\n{expected}\n", pytrace=False)


@pytest.mark.req("JRN-1")
def test_the_bytes_on_the_page_are_all_of_the_file() -> None:
    data = bytes.fromhex("".join(match[1] for match in HEX_LINE.finditer(shown())))
    assert data == example()
    assert f"{len(data)} bytes, all of them here" in PAGE


@pytest.mark.req("JRN-1")
def test_a_reader_written_from_the_page_alone_reads_it() -> None:
    records = [(type_, msgspec.msgpack.decode(body, strict=False)) for type_, body in frames(example())]
    assert [type_ for type_, _ in records] == [1, 6, 2, 3, 4, 5, 4, 5, 4, 5, 6]
    outcomes = b"".join(fields[1] for type_, fields in records if type_ == RecordType.TERMINAL)
    assert outcomes == bytes([SUCCESS, SUCCESS, SKIP, FAIL])
    assert [fields[0] for type_, fields in records if type_ == RecordType.COMMIT] == [2, 3, 4]


@pytest.mark.req("JRN-1")
def test_the_frame_on_the_page_is_the_frame_of_the_code() -> None:
    widths = re.findall(r"^\| (\d+) \| ", PAGE, re.MULTILINE)
    assert sum(map(int, widths)) == OVERHEAD_BYTES
    assert f"always `{MAGIC:02x}`" in PAGE
    assert f"| format version | {VERSION} |" in PAGE
    types = ", ".join(f"{type_.value} {type_.name.lower()}" for type_ in RecordType)
    assert f"| 1 | type | {types} |" in PAGE


@pytest.mark.req("JRN-1")
def test_every_record_that_the_text_points_to_is_there() -> None:
    offsets = set(map(int, re.findall(r"^byte (\d+): ", shown(), re.MULTILINE)))
    story = PAGE.partition("What happened, as the file tells it:")[2]
    lines = re.findall(r"^\* byte ([\d, ]+)", story, re.MULTILINE)
    named = [int(number) for line in lines for number in line.split(",")]
    assert named
    assert set(named) <= offsets
