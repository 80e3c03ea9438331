"""What is made of a journal that something has happened to. What of it was synced is told by hand here."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.journal.frame import MAGIC, OVERHEAD_BYTES, VERSION, RecordType, encode_frame
from inorder.journal.records import Attempt, Checkpoint, Commit, Header, Record, Terminal, WindowRecord, encode_record
from inorder.journal.scan import ScanResult, ScanVerdict, scan

HEADER = Header("a run", "a plan", "a configuration")
BEGUN = (HEADER, Checkpoint(end=0, durable=0))
DONE = b"\x03"


class Written:
    """A journal and where each of its records begins."""

    def __init__(self, *records: Record) -> None:
        self.offsets: list[int] = []
        self.data = b""
        for record in records:
            self.offsets.append(len(self.data))
            self.data += encode_record(record)

    def at(self, index: int) -> int:
        """Where a record begins."""
        return self.offsets[index]

    def broken(self, index: int, place: int = 12) -> bytes:
        """The bytes, with one bit of a record flipped."""
        at = self.offsets[index] + place
        return self.data[:at] + bytes([self.data[at] ^ 4]) + self.data[at + 1 :]


def run_of(synced_after: int) -> Written:
    """Two runs of outcomes, and then a commit record that says how many of the records before it were synced."""
    before = (*BEGUN, Terminal(0, DONE), Commit(1, 0), Terminal(1, DONE))
    return Written(*before, Commit(2, len(Written(*before[:synced_after]).data)), Attempt(2, 1))


def summed_up(found: ScanResult) -> tuple[ScanVerdict, int, int]:
    return found.verdict, found.offset, len(found.records)


@pytest.mark.req("JRN-1")
def test_a_whole_journal_is_read_to_its_end_record_by_record() -> None:
    records: list[Record] = [
        HEADER,
        Checkpoint(end=0, durable=0),
        WindowRecord(0, 0, 7, (1, 2, 3, 4, 5, 6, 7)),
        Attempt(1, 1),
        Terminal(0, DONE * 2),
        Commit(2, 60, [], b"digest"),
    ]
    written = Written(*records)
    found = scan(written.data)
    assert summed_up(found) == (ScanVerdict.CLEAN, len(written.data), 6)
    assert [each.record for each in found.records] == records
    assert [each.offset for each in found.records] == written.offsets
    assert [each.end for each in found.records] == [*written.offsets[1:], len(written.data)]
    assert (found.is_usable, found.message) == (True, "")


@pytest.mark.req("JRN-1")
def test_the_header_tells_the_run_the_plan_and_the_configuration_and_its_frame_the_version() -> None:
    data = encode_record(Header("a run", "a plan", "a configuration", ["rows"], 5))
    assert data[1] == VERSION
    assert data[2] == RecordType.HEADER
    header = scan(data).records[0].record
    assert header == Header(
        run_id="a run", plan_hash="a plan", config_hash="a configuration", sinks=["rows"], created_ms=5
    )


@pytest.mark.req("JRN-5")
@pytest.mark.parametrize("index", [2, 3, 4])
def test_damage_in_what_a_later_commit_says_was_synced_is_corrupt_at_its_offset(index: int) -> None:
    written = run_of(synced_after=5)
    found = scan(written.broken(index))
    assert summed_up(found) == (ScanVerdict.CORRUPT, written.at(index), index)
    assert found.message.endswith(f", and the record at byte {written.at(5)} says that this part was synced")
    assert not found.is_usable


@pytest.mark.req("JRN-5")
@pytest.mark.parametrize("index", [2, 3, 4])
def test_the_same_damage_is_a_torn_tail_where_nothing_says_that_it_was_synced(index: int) -> None:
    written = run_of(synced_after=2)
    found = scan(written.broken(index))
    assert summed_up(found) == (ScanVerdict.TORN, written.at(index), index)
    assert found.message == "the record does not match its checksum"
    assert found.is_usable


@pytest.mark.req("JRN-5")
def test_what_was_synced_ends_where_the_commit_says_and_not_a_byte_later() -> None:
    written = run_of(synced_after=3)
    assert summed_up(scan(written.broken(2))) == (ScanVerdict.CORRUPT, written.at(2), 2)
    assert summed_up(scan(written.broken(3))) == (ScanVerdict.TORN, written.at(3), 3)
    assert summed_up(scan(written.broken(4))) == (ScanVerdict.TORN, written.at(4), 4)


def test_of_a_journal_that_could_not_be_synced_no_claim_counts_for_more_than_what_was_synced_before() -> None:
    written = run_of(synced_after=5)
    broken = written.broken(4)
    assert scan(broken, synced_max=written.at(5)).verdict is ScanVerdict.CORRUPT
    assert scan(broken, synced_max=written.at(4) + 1).verdict is ScanVerdict.CORRUPT
    assert summed_up(scan(broken, synced_max=written.at(4))) == (ScanVerdict.TORN, written.at(4), 4)
    assert summed_up(scan(broken, synced_max=0)) == (ScanVerdict.TORN, written.at(4), 4)


@pytest.mark.req("JRN-5")
def test_a_good_record_after_a_broken_one_in_the_part_that_was_not_synced_is_cut_too() -> None:
    start = (*BEGUN, Terminal(0, DONE))
    synced = len(Written(*start).data)
    written = Written(*start, Commit(1, synced), Terminal(1, DONE), Attempt(9, 1), Commit(2, synced))
    found = scan(written.broken(4))
    assert summed_up(found) == (ScanVerdict.TORN, written.at(4), 4)


@pytest.mark.req("JRN-5")
def test_a_checkpoint_says_as_well_what_was_synced() -> None:
    before = (*BEGUN, Terminal(0, DONE), Commit(1, 0))
    written = Written(*before, Checkpoint(end=1, durable=len(Written(*before).data)))
    for index in (2, 3):
        assert summed_up(scan(written.broken(index))) == (ScanVerdict.CORRUPT, written.at(index), index)
    assert summed_up(scan(written.broken(4))) == (ScanVerdict.TORN, written.at(4), 4)


@pytest.mark.req("JRN-5")
def test_the_checkpoint_that_is_written_with_the_header_cannot_be_torn() -> None:
    written = Written(*BEGUN)
    message = "the record does not match its checksum, and the start of a journal is written atomically"
    assert scan(written.broken(1))[1:] == (ScanVerdict.CORRUPT, written.at(1), message)
    assert scan(encode_record(HEADER))[1:] == (ScanVerdict.CORRUPT, written.at(1), "the file ends after its header")


@pytest.mark.req("JRN-5")
@pytest.mark.parametrize("place", range(OVERHEAD_BYTES + 5))
def test_the_claim_is_found_wherever_it_lies_behind_the_damage(place: int) -> None:
    """The broken record has lost its length: nobody knows where the next one begins."""
    written = run_of(synced_after=4)
    assert summed_up(scan(written.broken(2, place))) == (ScanVerdict.CORRUPT, written.at(2), 2)


@pytest.mark.req("JRN-5")
def test_bytes_that_only_look_like_the_beginning_of_a_record_hide_no_claim() -> None:
    before = (*BEGUN, Attempt(MAGIC, MAGIC), Attempt(MAGIC, 2))
    written = Written(*before, Commit(0, len(Written(*before).data)))
    assert summed_up(scan(written.broken(2))) == (ScanVerdict.CORRUPT, written.at(2), 2)


@pytest.mark.req("JRN-5")
def test_a_claim_that_is_itself_damaged_or_of_another_version_or_makes_no_sense_claims_nothing() -> None:
    torn = Written(*BEGUN, Terminal(0, DONE)).broken(2)
    claim = encode_record(Commit(1, len(torn)))
    body = claim[9:-4]
    for harmless in (
        claim[:-1],
        encode_frame(RecordType.COMMIT, body, VERSION + 1),
        encode_frame(RecordType.COMMIT, b"?"),
        encode_frame(77, body),
    ):
        assert scan(torn + harmless).verdict is ScanVerdict.TORN
    assert scan(torn + claim).verdict is ScanVerdict.CORRUPT


@pytest.mark.req("JRN-5")
@pytest.mark.parametrize("rest", [b"\0", bytes(4096), b"\x1e", b"anything at all"])
def test_whatever_lies_behind_the_last_record_is_cut(rest: bytes) -> None:
    written = Written(*BEGUN, Terminal(0, DONE))
    found = scan(written.data + rest)
    assert summed_up(found) == (ScanVerdict.TORN, len(written.data), 3)


@pytest.mark.req("JRN-5")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"{}", "the file ends within the head of a record"),
        (b"name,value\na table,of somebody else\n", "no record starts here"),
        (bytes(64), "no record starts here"),
        (encode_record(HEADER)[:-1], "the file ends within a record"),
        (Written(HEADER).broken(0), "the record does not match its checksum"),
        (encode_record(Commit(1, 0)), "the file does not start with a header"),
        (encode_record(Commit(1, 0)) + b"and a torn tail", "no record starts here"),
        (encode_record(Commit(1, 0)) + encode_record(Commit(2, 0)), "the file does not start with a header"),
        (encode_record(Commit(1, 0)) + encode_frame(RecordType.COMMIT, b"?"), "the file does not start with a header"),
        (
            encode_record(Commit(1, 0)) + encode_frame(RecordType.COMMIT, b"", 9),
            "the file does not start with a header",
        ),
        (encode_record(Commit(1, 0)) + encode_frame(77, b""), "the file does not start with a header"),
    ],
)
def test_what_does_not_begin_with_a_header_is_no_journal(data: bytes, message: str) -> None:
    assert scan(data) == ScanResult([], ScanVerdict.FOREIGN, 0, message)


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@given(st.binary(max_size=400))
def test_garbage_is_no_journal(data: bytes) -> None:
    found = scan(data)
    assert (found.verdict, found.is_usable) == (ScanVerdict.FOREIGN, False)


@pytest.mark.req("JRN-1", "JRN-5")
def test_a_journal_of_another_version_is_not_read_and_says_which() -> None:
    body = msgspec.msgpack.encode(HEADER)
    found = scan(encode_frame(RecordType.HEADER, body, VERSION + 1))
    message = f"record of format version {VERSION + 1}, but this program reads version {VERSION}"
    assert found == ScanResult([], ScanVerdict.VERSION, 0, message)
    assert not found.is_usable


@pytest.mark.req("JRN-1", "JRN-5")
def test_a_record_of_another_version_is_not_skipped() -> None:
    data = encode_record(HEADER)
    found = scan(data + encode_frame(RecordType.WINDOW, b"", 9) + encode_record(Commit(0, 0)))
    assert summed_up(found) == (ScanVerdict.VERSION, len(data), 1)


@pytest.mark.req("JRN-1", "JRN-5")
def test_a_record_of_an_unknown_type_is_not_skipped_either() -> None:
    data = encode_record(HEADER)
    found = scan(data + encode_frame(77, b"") + encode_record(Commit(0, 0)))
    assert summed_up(found) == (ScanVerdict.VERSION, len(data), 1)
    assert found.message == "record of unknown type 77"


@pytest.mark.req("JRN-5")
@pytest.mark.parametrize("body", [b"", b"?", msgspec.msgpack.encode(["five", 0]), msgspec.msgpack.encode([])])
def test_a_whole_record_that_makes_no_sense_is_corrupt(body: bytes) -> None:
    data = encode_record(HEADER)
    found = scan(data + encode_frame(RecordType.COMMIT, body))
    assert summed_up(found) == (ScanVerdict.CORRUPT, len(data), 1)
    assert found.message.startswith("the record matches its checksum but cannot be decoded: ")


@pytest.mark.req("JRN-5")
def test_text_that_is_not_utf8_in_a_whole_record_is_corrupt_wherever_it_is() -> None:
    data = encode_record(HEADER)
    odd = encode_frame(RecordType.HEADER, b"\x93\xa1\xff\xa0\xa0")
    found = scan(data + odd)
    assert summed_up(found) == (ScanVerdict.CORRUPT, len(data), 1)
    assert found.message.startswith("the record matches its checksum but cannot be decoded: ")
    behind_damage = data + encode_record(BEGUN[1]) + b"?" + odd
    assert scan(behind_damage).verdict is ScanVerdict.TORN


@pytest.mark.req("JRN-1")
def test_a_field_that_a_later_program_adds_at_the_end_is_passed_over() -> None:
    body = msgspec.msgpack.encode([7, 1, "something new"])
    assert scan(encode_record(HEADER) + encode_frame(RecordType.ATTEMPT, body)).records[1].record == Attempt(7, 1)


@pytest.mark.req("JRN-1")
def test_a_field_that_an_earlier_program_did_not_write_has_its_default() -> None:
    frame = encode_frame(RecordType.COMMIT, msgspec.msgpack.encode([7, 0]))
    assert scan(encode_record(HEADER) + frame).records[1].record == Commit(7, 0, [], b"")
