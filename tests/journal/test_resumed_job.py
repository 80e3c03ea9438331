"""A job that died and is run again: it does what is left, spends what is left, and ends as if nothing had happened."""

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import CommitRun, RetryScheduled, Summary, WindowClosed, WindowOpened, WindowSealed
from inorder.core.options import KernelOptions, RetryOptions, WindowOptions
from inorder.journal.records import Commit, Terminal, WindowRecord
from inorder.journal.scan import scan
from inorder.journal.writer import JournalOptions
from inorder.sim.disk.disk import Disk
from tests.journal.jobs import JOURNAL, KERNEL, PATH, SCRIPT, Session, results_on

ADAPTIVE = KernelOptions(
    windows=WindowOptions(entries=8, entries_min=1, entries_max=16, plan_ahead=4, adaptive=True),
    retry=RetryOptions(retries_max=2, backoff_ms=0),
    commit_run_max=3,
)
words = st.sampled_from(["s", "s", "s", "k", "f", "rs", "rrs", "rrr"])


def undisturbed(script: Sequence[str] = SCRIPT, kernel: KernelOptions = KERNEL) -> tuple[Summary | None, Disk]:
    disk = Disk()
    return Session(disk, script, kernel=kernel).run(), disk


def deaths(kernel: KernelOptions = KERNEL, options: JournalOptions = JOURNAL) -> Iterator[tuple[Session, Disk]]:
    """The job, dead after every number of polls."""
    for polls in range(10**6):
        disk = Disk()
        session = Session(disk, kernel=kernel, options=options, dies_at=polls)
        if session.run() is not None:
            return
        disk.kill()
        yield session, disk


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_a_job_that_died_at_any_moment_ends_with_the_same_summary_and_the_same_bytes() -> None:
    summary, wanted = undisturbed()
    count = 0
    for count, (_, disk) in enumerate(deaths(), start=1):
        assert Session(disk, seed=count).run() == summary
        assert results_on(disk) == results_on(wanted)
    assert count > 50


@pytest.mark.slow
@pytest.mark.req("JRN-3")
@given(
    script=st.lists(words, max_size=30),
    lives=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 99)), max_size=6),
    budget=st.none() | st.integers(0, 4),
    entries=st.integers(1, 9),
    bound=st.none() | st.integers(0, 4),
    compact_bytes=st.sampled_from([1, 300, 10**6]),
)
def test_a_job_that_died_again_and_again_ends_as_if_nothing_had_happened(
    script: list[str],
    lives: list[tuple[int, int]],
    budget: int | None,
    entries: int,
    bound: int | None,
    compact_bytes: int,
) -> None:
    kernel = KernelOptions(
        windows=WindowOptions(entries=entries, entries_min=1, plan_ahead=4),
        retry=RetryOptions(retries_max=2, window_retries_max=bound, backoff_ms=0),
        error_budget=budget,
    )
    options = JournalOptions(checkpoint_ms=60, compact_bytes=compact_bytes)
    summary, wanted = undisturbed(script, kernel)
    disk = Disk()
    for polls, seed in lives:
        Session(disk, script, kernel=kernel, options=options, seed=seed, dies_at=polls).run()
        disk.kill()
    assert Session(disk, script, kernel=kernel, options=options).run() == summary
    assert results_on(disk) == results_on(wanted)


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_what_is_committed_is_not_worked_on_again() -> None:
    for first, disk in deaths():
        second = Session(disk, seed=1)
        end = second.opened.resume_point.end
        second.run()
        assert all(seq >= end for seq, _ in second.crew.worked)
        assert {seq for seq, _ in first.crew.worked} | {seq for seq, _ in second.crew.worked} == set(range(40))


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_no_seq_is_applied_to_a_sink_twice() -> None:
    for _, disk in deaths():
        Session(disk, seed=2).run()
        seqs = [msgspec.json.decode(row)["seq"] for row in disk.read("manifest.jsonl").splitlines()]
        assert seqs == list(range(40))


def retries_told(session: Session) -> dict[int, int]:
    """What was spent, by seq, when the latest outcomes were written."""
    known: dict[int, int] = {}
    written: dict[int, int] = {}
    for command in session.told(RetryScheduled | CommitRun):
        if isinstance(command, RetryScheduled):
            known[command.seq] = command.retries
        else:
            written = dict(known)
    return written


@pytest.mark.slow
@pytest.mark.req("JRN-3", "RTY-2")
def test_retries_that_were_spent_are_not_granted_again() -> None:
    spent = 0
    for first, disk in deaths():
        session = Session(disk, seed=3)
        resume_point = session.opened.resume_point
        session.run()
        told = retries_told(first)
        assert {seq: count for seq, count in resume_point.retries_granted.items() if seq >= resume_point.end} == {
            seq: count for seq, count in told.items() if seq >= resume_point.end
        }
        first_attempts: dict[int, int] = {}
        for seq, attempt in session.crew.worked:
            first_attempts.setdefault(seq, attempt)
        for seq, attempt in first_attempts.items():
            assert attempt == resume_point.retries_granted.get(seq, 0) + 1
        assert max((attempt for _, attempt in session.crew.worked), default=0) <= 3
        spent += sum(seq >= resume_point.end for seq in resume_point.retries_granted)
    assert spent > 5


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_windows_are_closed_in_order_and_none_is_left_out() -> None:
    summary, _ = undisturbed()
    for first, disk in deaths():
        second = Session(disk, seed=4)
        assert second.run() == summary
        sealed = {command.record for session in (first, second) for command in session.told(WindowSealed)}
        bounds = sorted({(record.id, record.start, record.end) for record in sealed})
        assert bounds == [(0, 0, 6), (1, 7, 13), (2, 14, 20), (3, 21, 27), (4, 28, 34), (5, 35, 39)]
        assert len({record.seed_hash for record in sealed}) == 6
        assert [command.id for command in second.told(WindowClosed)][-1] == 5


@pytest.mark.slow
@pytest.mark.req("WIN-6", "JRN-3")
def test_windows_that_had_adapted_are_cut_again_as_they_were() -> None:
    sizes = set()
    for first, disk in deaths(ADAPTIVE):
        known = {command.start: command for command in first.told(WindowOpened)}
        cut = {command.record.start: command.record for command in first.told(WindowSealed)}
        second = Session(disk, kernel=ADAPTIVE, seed=5)
        resume_point = second.opened.resume_point.windows
        assert second.run() is not None
        opened = {command.start: command for command in second.told(WindowOpened)}
        sealed = {command.record.start: command.record for command in second.told(WindowSealed)}
        for window in resume_point:
            assert opened[window.start] == known[window.start]
            assert sealed[window.start] == cut.get(window.start, sealed[window.start])
            sizes.add(window.target_entries)
    assert len(sizes) >= 3


@pytest.mark.slow
@pytest.mark.req("WIN-6", "JRN-2")
def test_a_window_is_in_the_journal_before_any_outcome_of_it() -> None:
    for _, disk in deaths(ADAPTIVE):
        covered = 0
        for each in scan(disk.read(PATH)).records:
            if isinstance(each.record, WindowRecord):
                covered = max(covered, each.record.start + each.record.target_entries)
            elif isinstance(each.record, Terminal):
                assert each.record.end <= covered


@pytest.mark.slow
@pytest.mark.req("JRN-3", "CAN-3")
@pytest.mark.parametrize("budget", [0, 1, 3, 5])
def test_an_error_budget_goes_on_where_it_stood(budget: int) -> None:
    kernel = msgspec.structs.replace(KERNEL, error_budget=budget)
    summary, wanted = undisturbed(kernel=kernel)
    assert summary is not None
    assert summary.stop_kind == "error budget"
    for _, disk in deaths(kernel):
        session = Session(disk, kernel=kernel, seed=6)
        assert session.run() == summary
        assert results_on(disk) == results_on(wanted)


@pytest.mark.req("JRN-3", "CAN-3")
def test_a_run_that_the_error_budget_ended_ends_at_once_when_it_is_run_again() -> None:
    kernel = msgspec.structs.replace(KERNEL, error_budget=2)
    disk = Disk()
    summary = Session(disk, kernel=kernel).run()
    again = Session(disk, kernel=kernel)
    assert again.opened.is_finished
    assert again.run() == summary
    assert again.crew.worked == []


@pytest.mark.req("JRN-3")
def test_a_run_that_went_to_its_end_does_nothing_when_it_is_run_again() -> None:
    summary, disk = undisturbed()
    before = results_on(disk)
    again = Session(disk)
    assert again.run() == summary
    assert again.crew.worked == []
    assert results_on(disk) == before


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_the_journal_of_a_resumed_job_tells_of_every_seq_once() -> None:
    for _, disk in deaths():
        Session(disk, seed=7).run()
        ends = [each.record.end for each in scan(disk.read(PATH)).records if isinstance(each.record, Commit)]
        assert ends == sorted(set(ends))
        assert ends[-1:] in ([40], [])
