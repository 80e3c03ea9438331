"""Opening a journal: what is demanded of it, which place it is gone on from, and what is done before what."""

from errno import EACCES, EIO
from typing import Any

import msgspec
import pytest

from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.journal.records import Checkpoint, Commit, Header, Terminal, WindowRecord
from inorder.journal.replay import FAIL, SUCCESS
from inorder.journal.scan import ScanVerdict, scan
from inorder.journal.writer import JournalOptions
from inorder.runtime.recovery import create_journal, read_journal, resume_journal
from inorder.sim.crash.power_loss import power_losses
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from inorder.sinks.memory import MemorySink
from tests.journal.jobs import HEADER, PATH, SCRIPT, Session, job_on, plan_of, results_on, sinks_on

NO_CHECKPOINT = JournalOptions(checkpoint_ms=10**9)
PLAIN = Header("", "", "")
MAKE_FILES = [seq for seq in range(0, len(SCRIPT), 3) if SCRIPT[seq].endswith("s")]


def interrupted(polls: int = 30, **changes: Any) -> Disk:
    """What a run leaves behind that died on its way."""
    disk = Disk()
    Session(disk, dies_at=polls, options=NO_CHECKPOINT, **changes).run()
    disk.kill()
    return disk


def ends_on(disk: Disk) -> list[int]:
    """The places that the journal can be gone on from."""
    return [candidate.end for candidate in read_journal(disk, PATH)[1].candidates]


def newest_up_to(disk: Disk, seq: int) -> int:
    """The newest of these places at which nothing from this seq on is committed."""
    return max(end for end in ends_on(disk) if end <= seq)


def rewrite(disk: Disk, path: str, data: bytes) -> None:
    file = disk.open(path)
    file.truncate(0)
    file.append(data)
    file.close()


def keep_rows(disk: Disk, count: int) -> None:
    """The manifest has lost the others."""
    rewrite(disk, "manifest.jsonl", b"".join(disk.read("manifest.jsonl").splitlines(keepends=True)[:count]))


# ---- a new journal


@pytest.mark.req("JRN-1")
def test_a_new_journal_holds_its_header_and_a_checkpoint_at_the_beginning() -> None:
    disk = Disk()
    opened = create_journal(disk, PATH, HEADER, sinks_on(disk))
    first = Checkpoint(end=0, durable=0, marks=[(0, 0, 0), (0, 0, 0)])
    assert [each.record for each in scan(disk.read(PATH)).records] == [HEADER, first]
    assert opened.writer.durable == opened.writer.offset == len(disk.read(PATH))
    assert (opened.resume_point.end, opened.is_resumed, opened.is_finished, opened.warning) == (0, False, False, "")


@pytest.mark.req("JRN-1")
def test_a_new_journal_is_there_whole_or_not_at_all_when_the_power_goes() -> None:
    seen = {
        found.disk.tree().get(PATH)
        for found in power_losses(lambda disk: create_journal(disk, PATH, PLAIN, ()).writer.close(), Disk())
    }
    disk = Disk()
    create_journal(disk, PATH, PLAIN, ())
    assert seen == {None, disk.read(PATH)}


@pytest.mark.req("JRN-3")
def test_a_journal_that_is_begun_anew_takes_the_place_of_the_old_one_and_empties_the_sinks() -> None:
    disk = interrupted()
    job = job_on(disk)
    opened = job.open(start_over=True)
    assert (opened.resume_point.end, opened.is_resumed) == (0, False)
    assert disk.read("manifest.jsonl") == b""
    assert len(scan(disk.read(PATH)).records) == 2


def test_a_journal_that_cannot_be_written_is_the_machines_fault_in_one_line() -> None:
    disk = Disk(faults=DiskFaults(fail_at={0: EACCES}))
    with pytest.raises(
        InfrastructureError, match=r"^the journal run.journal cannot be written: Permission denied \(run.journal"
    ):
        create_journal(disk, PATH, HEADER, ())


def test_a_journal_that_cannot_be_read_is_the_machines_fault_in_one_line() -> None:
    disk = interrupted()
    sinks = sinks_on(disk)
    disk.faults = DiskFaults(fail_reads_at=dict.fromkeys(range(99), EIO))
    with pytest.raises(InfrastructureError, match=r"^the journal run.journal cannot be read: Input/output error$"):
        resume_journal(disk, PATH, HEADER, sinks)


# ---- the same run as before


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"plan_hash": "of another plan"}, "plan"),
        ({"config_hash": "otherwise configured"}, "configuration"),
    ],
)
def test_another_plan_or_configuration_is_refused_and_nothing_is_changed(change: dict[str, str], what: str) -> None:
    disk = interrupted()
    before = disk.tree()
    with pytest.raises(OperatorError) as caught:
        resume_journal(disk, PATH, msgspec.structs.replace(HEADER, **change), sinks_on(disk))
    assert str(caught.value) == (
        f"the {what} has changed since the journal run.journal was created; "
        f"run again with the same {what}, or start over with another journal"
    )
    assert caught.value.exit_code == 2
    assert {path: data for path, data in disk.tree().items() if "staging" not in path} == {
        path: data for path, data in before.items() if "staging" not in path
    }


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize("count", [0, 1])
def test_another_set_of_sinks_is_refused(count: int) -> None:
    disk = interrupted()
    header = msgspec.structs.replace(HEADER, sinks=HEADER.sinks[:count])
    with pytest.raises(OperatorError, match=r"^the set of sinks has changed since the journal run.journal "):
        resume_journal(disk, PATH, header, sinks_on(disk)[:count])


@pytest.mark.req("JRN-3")
def test_the_name_of_the_run_and_the_time_may_differ() -> None:
    disk = interrupted()
    opened = resume_journal(disk, PATH, msgspec.structs.replace(HEADER, run_id="another", created_ms=7), sinks_on(disk))
    assert opened.is_resumed
    assert scan(disk.read(PATH)).records[0].record == HEADER


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize("place", [0, 3])
def test_items_that_are_not_those_committed_are_refused(place: int) -> None:
    disk = interrupted()
    session = Session(disk)
    plan = list(plan_of("s" * 40))
    plan[place] = (plan[place][0], "another item")
    session._run.runtime._plan = iter(plan)
    with pytest.raises(OperatorError) as caught:
        session.run()
    end = session.opened.resume_point.end
    assert str(caught.value) == (
        f"the plan has changed: its first {end} items differ from those committed in the journal; "
        "resume with the same items, or start over with another journal, and with key= if items come and go"
    )


@pytest.mark.req("JRN-3")
def test_a_journal_without_a_header_of_ours_is_taken_as_it_is() -> None:
    disk = interrupted()
    *_, newest = ends_on(disk)
    assert resume_journal(disk, PATH, None, sinks_on(disk)).resume_point.end == newest


# ---- which place


@pytest.mark.req("JRN-3")
def test_it_goes_on_from_the_newest_commit_where_the_sinks_have_it() -> None:
    disk = interrupted()
    *_, newest = ends_on(disk)
    opened = resume_journal(disk, PATH, HEADER, sinks_on(disk))
    assert (opened.resume_point.end, opened.is_resumed, opened.is_finished, opened.warning) == (newest, True, False, "")


@pytest.mark.req("JRN-5")
def test_a_torn_tail_is_cut_and_said_to_be_cut() -> None:
    disk = interrupted()
    whole = disk.read(PATH)
    broken = scan(whole).records[-1]
    rewrite(disk, PATH, whole[:-1])
    opened = resume_journal(disk, PATH, HEADER, sinks_on(disk))
    assert opened.warning == (
        f"the journal run.journal has a torn tail at byte {broken.offset}: the file ends within a record; "
        "it was cut there"
    )
    *_, before, last = (each.record.end for each in scan(whole).records if isinstance(each.record, Commit))
    assert last > opened.resume_point.end == before
    assert scan(disk.read(PATH)).verdict is ScanVerdict.CLEAN


@pytest.mark.req("JRN-3")
def test_a_sink_that_holds_less_than_the_journal_says_has_an_older_place_chosen() -> None:
    for behind in range(4):
        disk = interrupted()
        *_, wanted = ends_on(disk)[: len(ends_on(disk)) - behind]
        keep_rows(disk, wanted)
        opened = resume_journal(disk, PATH, HEADER, sinks_on(disk))
        assert opened.resume_point.end == wanted
        published = sorted(int(path[4:-4]) for path in disk.tree() if path.startswith("out/"))
        assert published == [seq for seq in MAKE_FILES if seq < wanted]


@pytest.mark.req("JRN-3")
def test_an_altered_row_has_an_older_place_chosen_and_the_row_written_again() -> None:
    wanted = interrupted(10**6)
    disk = interrupted()
    rewrite(disk, "manifest.jsonl", disk.read("manifest.jsonl").replace(b"text 7", b"text ?"))
    place = newest_up_to(disk, 7)
    session = Session(disk)
    assert session.opened.resume_point.end == place
    session.run()
    assert results_on(disk) == results_on(wanted)


@pytest.mark.req("JRN-3")
def test_a_published_file_that_is_gone_has_an_older_place_chosen() -> None:
    disk = interrupted()
    disk.unlink("out/6.txt")
    place = newest_up_to(disk, 6)
    assert resume_journal(disk, PATH, HEADER, sinks_on(disk)).resume_point.end == place


@pytest.mark.req("JRN-3")
def test_where_no_place_is_left_it_is_refused_with_what_to_do() -> None:
    disk = interrupted(10**6)
    assert ends_on(disk) == [40]
    rewrite(disk, "manifest.jsonl", disk.read("manifest.jsonl")[:-9])
    before = disk.read(PATH)
    with pytest.raises(IntegrityError) as caught:
        resume_journal(disk, PATH, HEADER, sinks_on(disk))
    assert str(caught.value) == (
        "the journal run.journal records commits up to seq 40 that the sinks no longer hold (manifest, outputs); "
        "restore them from a backup, or remove the journal to start over"
    )
    assert caught.value.exit_code == 6
    assert disk.read(PATH) == before


@pytest.mark.req("JRN-3")
def test_a_list_that_died_with_its_process_is_filled_from_the_beginning() -> None:
    disk, header = Disk(), Header("", "", "", ["memory"])
    opened = create_journal(disk, PATH, header, [MemorySink()])
    opened.writer.append(WindowRecord(0, 0, 4), Terminal(0, bytes([SUCCESS])), Commit(1, 0, [(1, 1, 5)]))
    assert resume_journal(disk, PATH, header, [MemorySink()]).resume_point.end == 0


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize(("polls", "is_finished"), [(10**6, True), (30, False)])
def test_a_run_that_went_to_its_end_is_known_for_it(polls: int, is_finished: bool) -> None:
    disk = interrupted(polls)
    opened = resume_journal(disk, PATH, HEADER, sinks_on(disk))
    assert (opened.is_finished, opened.resume_point.end == 40) == (is_finished, is_finished)


# ---- before what


@pytest.mark.req("JRN-3")
def test_sinks_are_rolled_back_and_synced_before_the_journal_is_cut() -> None:
    disk = interrupted()
    rewrite(disk, "manifest.jsonl", disk.read("manifest.jsonl")[:-9])
    log: list[str] = []
    disk.on_operation = lambda number, name, path: log.append(f"{name} {path}")
    resume_journal(disk, PATH, HEADER, sinks_on(disk))
    [cut] = [number for number, act in enumerate(log) if act == f"truncate {PATH}"]
    assert "truncate manifest.jsonl" in log[:cut]
    assert "sync manifest.jsonl" in log[:cut]
    assert all(act.endswith(PATH) for act in log[cut:])
    assert log[cut + 1 :] == [f"sync {PATH}", f"append {PATH}", f"sync {PATH}"]


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_what_a_dead_process_had_not_synced_is_safe_once_it_was_gone_on_from() -> None:
    wanted = interrupted(10**6)
    for polls in range(5, 50, 6):
        disk = interrupted(polls)
        resume_journal(disk, PATH, HEADER, sinks_on(disk))
        for found in disk.states(4):
            Session(found).run()
            assert results_on(found) == results_on(wanted), polls


@pytest.mark.slow
@pytest.mark.req("JRN-3", "JRN-4")
def test_going_on_twice_without_having_done_anything_finds_the_same() -> None:
    for polls in range(0, 54, 3):
        for rows in (None, 4, 9):
            disk = interrupted(polls)
            if rows is not None:
                keep_rows(disk, rows)
            once, twice, thrice = (resume_journal(disk, PATH, HEADER, sinks_on(disk)) for _ in range(3))
            assert once.resume_point == twice.resume_point == thrice.resume_point
            assert once.digest == twice.digest == thrice.digest


@pytest.mark.req("JRN-3", "JRN-4")
def test_outcomes_that_were_told_and_not_committed_are_not_counted_after_going_on_twice() -> None:
    disk = Disk()
    opened = create_journal(disk, PATH, PLAIN, ())
    opened.writer.append(WindowRecord(0, 0, 8), Terminal(0, bytes([SUCCESS, SUCCESS, FAIL, SUCCESS])))
    opened.writer.append(Commit(1, 0, [], b"one"))
    once = resume_journal(disk, PATH, PLAIN, ())
    once.writer.append(Terminal(1, bytes([FAIL])))  # this time it came out otherwise
    assert once.writer.state.terminal_end == 2
    twice = resume_journal(disk, PATH, PLAIN, ())
    assert (once.resume_point.end, once.resume_point.succeeded, once.resume_point.failed) == (1, 1, 0)
    assert twice.resume_point == once.resume_point


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_a_death_at_any_moment_of_going_on_is_gone_on_from_again() -> None:
    wanted = interrupted(10**6)
    disk = interrupted()
    keep_rows(disk, 8)
    place = newest_up_to(disk, 8)
    moments: list[Disk] = []
    disk.on_operation = lambda number, name, path: moments.append(disk.copy())
    end = resume_journal(disk, PATH, HEADER, sinks_on(disk)).resume_point.end
    assert len(moments) >= 8
    for moment in moments:
        session = Session(moment)
        assert session.opened.resume_point.end == end == place
        session.run()
        assert results_on(moment) == results_on(wanted)
