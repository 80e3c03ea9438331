"""Everything that can happen to the bytes of a real journal, and that none of it is taken for the truth.

The journals are those of jobs that were really run: one that went to its end, one that died on the way, one that was
compacted. Whatever is done to one of them, it is refused with the offset, or cut and said to be cut, or what is read
is what was written up to some point.
"""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from inorder.core.transitions import State
from inorder.errors import IntegrityError
from inorder.journal.frame import RecordType
from inorder.journal.records import Attempt, Checkpoint, Commit, Header, Terminal, WindowRecord
from inorder.journal.replay import CorruptRecord, Replay, replay
from inorder.journal.scan import ScannedRecord, ScanVerdict, scan
from inorder.journal.writer import JournalOptions
from inorder.runtime.recovery import read_journal
from inorder.sim.disk.disk import Disk
from tests.journal.jobs import PATH, SCRIPT, Session, journal_of, results_on

KINDS: dict[str, dict[str, Any]] = {
    "a finished run": {},
    "a run that died": {"dies_at": 44},
    "a compacted one": {
        "script": SCRIPT * 3,
        "options": JournalOptions(checkpoint_ms=500, compact_bytes=500),
        "dies_at": 85,
    },
    "one whose commits are synced": {"options": JournalOptions(fsync="always", checkpoint_ms=300), "dies_at": 41},
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@cache
def journal(kind: str) -> bytes:
    return journal_of(**KINDS[kind])


@cache
def written(kind: str) -> tuple[ScannedRecord, ...]:
    return tuple(scan(journal(kind)).records)


@cache
def safe_end(kind: str) -> int:
    """How much of it was surely synced: what some record says, and what is written in one act with the header."""
    claims = [each.record.durable for each in written(kind) if isinstance(each.record, Commit | Checkpoint)]
    return max(*claims, written(kind)[1].end)


def known(state: Replay) -> tuple[object, ...]:
    """All that anybody who goes on from this state can see of it; not where the records lie in the file."""
    newest = state.newest_candidate
    standing = [terminal.slice_from(newest.end) for terminal in state.terminals if terminal.end > newest.end]
    return newest.end, newest.marks, newest.digest, state.build_resume_point(newest), standing, state.is_end


@cache
def moments(kind: str) -> list[tuple[object, ...]]:
    """The state after each record."""
    return [known(replay(written(kind)[:count])) for count in range(1, len(written(kind)) + 1)]


def refused(data: bytes) -> str:
    """The one line that a journal is refused with."""
    disk = Disk()
    file = disk.open(PATH)
    file.append(data)
    file.close()
    with pytest.raises(IntegrityError) as caught:
        read_journal(disk, PATH)
    assert caught.value.exit_code == 6
    message = str(caught.value)
    assert "\n" not in message
    assert PATH in message
    return message


def check_damage(kind: str, data: bytes, place: int) -> ScanVerdict:
    """Bytes from `place` on are not as they were written: everything before is found, and nothing that was not
    written. The verdict."""
    found = scan(data)
    whole = [each for each in written(kind) if each.end <= place]
    broken_at = whole[-1].end if whole else 0
    assert (found.records, found.offset) == (whole, broken_at)
    if not whole:
        assert found.verdict is ScanVerdict.FOREIGN
    elif broken_at < safe_end(kind):
        assert found.verdict is ScanVerdict.CORRUPT
    else:
        assert found.verdict is ScanVerdict.TORN
    assert found.message
    return found.verdict


@pytest.mark.req("JRN-1")
@EVERY_KIND
def test_the_journals_have_something_of_everything(kind: str) -> None:
    assert len(journal(kind)) >= 1000
    assert scan(journal(kind)).verdict is ScanVerdict.CLEAN
    records = [each.record for each in written(kind)]
    assert {type(record) for record in records} == {Header, WindowRecord, Attempt, Terminal, Commit, Checkpoint}
    terminals = [record for record in records if isinstance(record, Terminal)]
    told = {outcome for terminal in terminals for outcome in terminal.outcomes}
    assert told == {State.TERMINAL_SUCCESS, State.TERMINAL_SKIP, State.TERMINAL_FAIL}
    details = [detail for terminal in terminals for detail in terminal.details.values()]
    assert any(detail.retries for detail in details)
    assert any(detail.outputs for detail in details)
    first = written(kind)[1].record
    assert isinstance(first, Checkpoint)
    assert (first.end > 0) == (kind == "a compacted one")


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@EVERY_KIND
def test_every_flipped_bit_is_found(kind: str) -> None:
    data = bytearray(journal(kind))
    verdicts = set()
    for place in range(len(data)):
        for bit in range(8):
            data[place] ^= 1 << bit
            verdicts.add(check_damage(kind, bytes(data), place))
            data[place] ^= 1 << bit
    assert verdicts == {ScanVerdict.FOREIGN, ScanVerdict.CORRUPT, ScanVerdict.TORN}


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@EVERY_KIND
def test_every_truncation_leaves_a_true_beginning_and_says_what_was_cut(kind: str) -> None:
    data, found = journal(kind), written(kind)
    ends = {each.end for each in found}
    for size in range(len(data)):
        cut = scan(data[:size])
        whole = [each for each in found if each.end <= size]
        assert cut.records == whole
        if len(whole) < 2:
            assert cut.verdict is (ScanVerdict.CORRUPT if whole else ScanVerdict.FOREIGN)
            continue
        assert cut.verdict is (ScanVerdict.CLEAN if size in ends else ScanVerdict.TORN)
        assert cut.offset == whole[-1].end
        assert known(replay(cut.records)) == moments(kind)[len(whole) - 1]


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@EVERY_KIND
def test_every_byte_is_missed_whatever_stands_in_its_place(kind: str) -> None:
    data, chance = journal(kind), Random(5)
    for place in range(len(data)):
        for _ in range(3):
            other = chance.choice([byte for byte in range(256) if byte != data[place]])
            check_damage(kind, data[:place] + bytes([other]) + data[place + 1 :], place)


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@EVERY_KIND
def test_zeros_in_the_place_of_any_range_are_found(kind: str) -> None:
    data, chance = journal(kind), Random(6)
    for _ in range(1500):
        start = chance.randrange(len(data))
        end = min(len(data), start + chance.choice((1, 2, 4, 8, 16, 64, 512)))
        zeroed = data[:start] + bytes(end - start) + data[end:]
        if zeroed != data:
            first = next(place for place in range(start, end) if data[place])
            check_tail(kind, zeroed, first)


def check_tail(kind: str, data: bytes, place: int) -> None:
    """As `check_damage`, where the damage may have taken along the records that say what was synced."""
    found = scan(data)
    whole = [each for each in written(kind) if each.end <= place]
    assert (found.records, found.offset) == (whole, whole[-1].end if whole else 0)
    assert found.verdict in ((ScanVerdict.CORRUPT, ScanVerdict.TORN) if whole else (ScanVerdict.FOREIGN,))


@pytest.mark.slow
@pytest.mark.req("JRN-5")
@EVERY_KIND
def test_a_range_of_bytes_that_is_there_twice_is_found(kind: str) -> None:
    data, chance = journal(kind), Random(7)
    ends = {each.end for each in written(kind)}
    for _ in range(1500):
        start = chance.randrange(len(data))
        end = min(len(data), start + chance.choice((1, 2, 4, 8, 16, 64, 512)))
        if start in ends and end in ends:
            continue  # these are whole records, see below
        check_read(kind, data[:end] + data[start:end] + data[end:])


def check_read(kind: str, data: bytes) -> None:
    """Refused, or what is read is what was known at some moment of the run."""
    found = scan(data)
    if not found.is_usable:
        return
    try:
        state = replay(found.records)
    except CorruptRecord:
        return
    assert known(state) in moments(kind)


def without_offsets(kind: str) -> list[bytes]:
    return [journal(kind)[each.offset : each.end] for each in written(kind)]


def swapped(records: list[bytes]) -> Iterator[list[bytes]]:
    """Any two records between two checkpoints. A checkpoint says everything anew: what has moved across one, as no disk
    can move it, is not missed."""
    for first in range(1, len(records)):
        for second in range(first + 1, len(records)):
            if any(record[2] == RecordType.CHECKPOINT for record in records[first : second + 1]):
                break
            changed = list(records)
            changed[first], changed[second] = changed[second], changed[first]
            yield changed


def doubled(records: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(len(records)):
        for end in range(start + 1, len(records) + 1):
            yield records[:end] + records[start:end] + records[end:]
            yield records + records[start:end]


@pytest.mark.slow
@pytest.mark.req("JRN-4", "JRN-5")
@EVERY_KIND
@pytest.mark.parametrize("change", [swapped, doubled])
def test_records_in_the_wrong_order_or_told_twice_are_refused_or_change_nothing(
    kind: str, change: Callable[[list[bytes]], Iterator[list[bytes]]]
) -> None:
    for records in change(without_offsets(kind)):
        check_read(kind, b"".join(records))


@pytest.mark.req("JRN-5")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "run.journal is not a journal of inorder, or its start is damaged: the file is empty"),
        (Random(8).randbytes(2000), "run.journal is not a journal of inorder, or its start is damaged: no record"),
    ],
)
def test_what_is_no_journal_is_refused_in_one_line(data: bytes, message: str) -> None:
    assert refused(data).startswith(message)
    assert refused(data).endswith("; restore it from a backup, or remove it to start over")


@pytest.mark.req("JRN-5")
def test_damage_before_the_tail_is_refused_with_the_offset_and_with_what_to_do() -> None:
    data, found = journal("a finished run"), written("a finished run")
    broken = found[5]
    message = refused(data[: broken.end - 1] + b"?" + data[broken.end :])
    assert message.startswith(f"the journal run.journal cannot be used: corrupt at byte {broken.offset}: ")
    assert message.endswith("; restore it from a backup, or remove it to start over")


@pytest.mark.req("JRN-4", "JRN-5")
def test_a_record_that_contradicts_those_before_it_is_refused_with_the_offset_and_with_what_to_do() -> None:
    records = without_offsets("a finished run")
    first, second, *_ = (n for n, each in enumerate(written("a finished run")) if isinstance(each.record, Terminal))
    records[first], records[second] = records[second], records[first]
    message = refused(b"".join(records))
    assert message.startswith("the journal run.journal is corrupt at byte ")
    assert message.endswith("seqs 0 to 1 have no outcome; restore it from a backup, or remove it to start over")


def resumed_from(kind: str, size: int) -> dict[str, bytes]:
    """What a run leaves behind that finds so many bytes of the journal, and everything else as it was."""
    disk, again = Disk(), KINDS[kind] | {"dies_at": None}
    Session(disk, **KINDS[kind]).run()
    disk.kill()
    file = disk.open(PATH)
    file.truncate(size)
    file.close()
    assert Session(disk, **again).run() is not None
    return results_on(disk)


@pytest.mark.slow
@pytest.mark.req("JRN-3", "JRN-5")
@EVERY_KIND
def test_a_run_that_resumes_from_any_true_beginning_ends_as_if_nothing_had_happened(kind: str) -> None:
    wanted = Disk()
    Session(wanted, **KINDS[kind] | {"dies_at": None}).run()
    _, *ends = (each.end for each in written(kind))
    for cut in sorted({*ends, *range(ends[0], ends[-1], 97)}):
        assert resumed_from(kind, cut) == results_on(wanted), cut
