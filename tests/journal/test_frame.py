"""A record is found as it was written, or there is a reason why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.journal.frame import (
    BODY_BYTES_MAX,
    MAGIC,
    OVERHEAD_BYTES,
    VERSION,
    Fault,
    RecordFrame,
    RecordType,
    complete_frame,
    encode_frame,
    read_frame,
)

FRAME = encode_frame(RecordType.COMMIT, b"so much is done")
HEAD_BYTES = 9


def fault_at(data: bytes, offset: int = 0) -> Fault:
    fault = read_frame(data, offset)
    assert isinstance(fault, Fault)
    return fault


def flipped(data: bytes, bit: int) -> bytes:
    place, which = divmod(bit, 8)
    return data[:place] + bytes([data[place] ^ (1 << which)]) + data[place + 1 :]


@pytest.mark.slow
@pytest.mark.req("JRN-1")
@given(
    st.integers(0, 255), st.binary(max_size=300), st.integers(0, 255), st.binary(max_size=20), st.binary(max_size=20)
)
def test_a_record_is_found_as_it_was_written_wherever_it_lies(
    type_: int, body: bytes, version: int, before: bytes, after: bytes
) -> None:
    data = before + encode_frame(type_, body, version) + after
    end = len(before) + OVERHEAD_BYTES + len(body)
    assert read_frame(data, len(before)) == RecordFrame(type_, version, body, len(before), end)


@pytest.mark.slow
@pytest.mark.req("JRN-1")
@given(st.integers(0, 255), st.binary(max_size=300), st.binary(min_size=HEAD_BYTES, max_size=HEAD_BYTES))
def test_a_body_with_free_bytes_before_it_becomes_the_same_record(type_: int, body: bytes, free: bytes) -> None:
    frame = bytearray(free + body)
    complete_frame(type_, frame)
    assert frame == encode_frame(type_, body)


@pytest.mark.req("JRN-1")
def test_a_record_begins_with_its_magic_its_version_and_its_type_and_tells_its_length() -> None:
    assert FRAME[:3] == bytes([MAGIC, VERSION, RecordType.COMMIT])
    assert int.from_bytes(FRAME[5:HEAD_BYTES], "little") == len(b"so much is done")
    assert len(FRAME) == OVERHEAD_BYTES + len(b"so much is done")


@pytest.mark.req("JRN-1")
def test_there_is_a_type_for_the_header_and_one_for_each_kind_of_record() -> None:
    assert [type_.name for type_ in RecordType] == ["HEADER", "WINDOW", "ATTEMPT", "TERMINAL", "COMMIT", "CHECKPOINT"]


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@given(st.integers(0, 255), st.binary(max_size=40), st.data())
def test_no_flipped_bit_goes_unseen(type_: int, body: bytes, data: st.DataObject) -> None:
    frame = encode_frame(type_, body)
    bit = data.draw(st.integers(0, 8 * len(frame) - 1))
    assert isinstance(read_frame(flipped(frame, bit), 0), Fault)


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@given(st.binary(max_size=60), st.data())
def test_no_piece_of_a_record_passes_for_the_whole(body: bytes, data: st.DataObject) -> None:
    frame = encode_frame(RecordType.TERMINAL, body)
    length = data.draw(st.integers(1, len(frame) - 1))
    assert fault_at(frame[:length]).message.startswith("the file ends within")


@pytest.mark.parametrize("length", range(1, HEAD_BYTES))
def test_a_file_that_ends_within_a_head_says_so(length: int) -> None:
    assert fault_at(FRAME[:length]) == Fault("the file ends within the head of a record")


@pytest.mark.parametrize("length", range(HEAD_BYTES, len(FRAME)))
def test_a_file_that_ends_within_a_body_or_a_checksum_says_so(length: int) -> None:
    assert fault_at(FRAME[:length]) == Fault("the file ends within a record")


def test_a_few_bytes_of_something_else_at_the_end_are_not_taken_for_the_beginning_of_a_record() -> None:
    assert fault_at(b"\0\0\0") == Fault("the file ends within the head of a record")


@pytest.mark.parametrize("data", [bytes(40), b"x" + FRAME[1:], b"a text file, of some length"])
def test_where_no_record_begins_that_is_said(data: bytes) -> None:
    assert fault_at(data) == Fault("no record starts here")


@pytest.mark.parametrize("place", range(1, HEAD_BYTES))
def test_a_damaged_head_is_told_from_a_short_file(place: int) -> None:
    damaged = FRAME[:place] + bytes([FRAME[place] ^ 0xFF]) + FRAME[place + 1 :]
    for data in (damaged, damaged + bytes(200)):
        assert fault_at(data) == Fault("the head of the record is damaged")


@pytest.mark.slow
def test_a_length_that_no_record_can_have_is_damage_even_where_it_matches_its_check() -> None:
    head = encode_frame(RecordType.TERMINAL, bytes(BODY_BYTES_MAX + 1))[:HEAD_BYTES]
    assert fault_at(head) == Fault("the head of the record is damaged")


@pytest.mark.parametrize("place", range(HEAD_BYTES, len(FRAME)))
def test_a_damaged_body_or_checksum_does_not_match(place: int) -> None:
    damaged = FRAME[:place] + bytes([FRAME[place] ^ 0x10]) + FRAME[place + 1 :]
    assert fault_at(damaged) == Fault("the record does not match its checksum")
