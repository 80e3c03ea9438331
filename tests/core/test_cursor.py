"""What is handed to the commit lane, and what its acknowledgement does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import CommitRun, WindowClosed, WindowOpened
from inorder.core.transitions import State
from inorder.errors import InvariantViolation
from tests.core.driver import FAIL, SKIP, SUCCESS, Driver, Story, options


def busy(count: int, **limits: int) -> Driver:
    """Each item that may be dispatched is with the worker of its number."""
    driver = Driver.of(count, **limits)
    for worker in range(count):
        driver.pull(worker)
    return driver


def runs(driver: Driver) -> list[tuple[int, int]]:
    return [(run.start, run.end) for run in driver.told(CommitRun)]


@pytest.mark.req("COM-1")
def test_the_longest_run_at_the_cursor_is_handed_over_at_once() -> None:
    driver = busy(6, entries=6)
    driver.finish(1, 2, 4)
    assert runs(driver) == []
    driver.finish(0)
    assert runs(driver) == [(0, 3)]
    assert [envelope.seq for envelope in driver.run.envelopes] == [0, 1, 2]


@pytest.mark.req("COM-1")
def test_one_run_is_outstanding_and_the_next_is_as_long_as_that_took() -> None:
    driver = busy(6, entries=6)
    driver.finish(0, 1, 2, 3)
    assert runs(driver) == [(0, 1)]
    driver.ack()
    assert runs(driver) == [(0, 1), (1, 4)]


@pytest.mark.req("COM-1")
def test_a_run_never_skips_a_hole_however_long_it_takes() -> None:
    driver = busy(4)
    driver.finish(1, 2, 3)
    for _ in range(100):
        driver.tick(1000)
        driver.beat(0)
    assert runs(driver) == []
    assert driver.kernel.snapshot().waiting_for == "worker 0, which holds seq 0"


@pytest.mark.req("COM-1", "WIN-5")
def test_a_run_never_reaches_beyond_the_first_window() -> None:
    driver = busy(4, entries=2)
    driver.finish(3, 2, 1, 0)
    assert runs(driver) == [(0, 2)]
    assert [type(command) for command in driver.ack()] == [WindowClosed, CommitRun]
    assert runs(driver) == [(0, 2), (2, 4)]


@pytest.mark.req("COM-1")
def test_a_run_is_no_longer_than_the_options_allow() -> None:
    driver = busy(5, entries=5, commit_run_max=2)
    driver.finish(4, 3, 2, 1, 0)
    driver.drain()
    assert runs(driver) == [(0, 2), (2, 4), (4, 5)]


@pytest.mark.req("COM-2", "DEC-4")
def test_every_terminal_kind_is_committed_with_its_outcome() -> None:
    driver = busy(4)
    driver.skip(1)
    driver.fail(2)
    driver.finish(3, 0)
    assert [envelope.outcome for envelope in driver.run.envelopes] == [SUCCESS, SKIP, FAIL, SUCCESS]
    state = driver.kernel._state
    assert list(state.ledger.states) == [SUCCESS, SKIP, FAIL, SUCCESS]
    driver.ack()
    assert list(state.ledger.states) == [State.COMMITTED] * 4
    summary = driver.kernel.summary
    assert (summary.succeeded, summary.skipped, summary.failed) == (2, 1, 1)


@pytest.mark.req("COM-2")
def test_a_computed_result_is_in_flight_until_every_lower_seq_is_settled() -> None:
    driver = busy(3)
    driver.finish(2, 1)
    assert list(driver.kernel._state.ledger.states) == [State.IN_FLIGHT] * 3
    driver.finish(0)
    assert list(driver.kernel._state.ledger.states) == [SUCCESS] * 3


@pytest.mark.req("COM-2")
def test_an_acknowledgement_is_cumulative() -> None:
    driver = busy(4)
    driver.finish(3, 2, 1, 0)
    cursor = []
    for end in (1, 1, 3, 2, 0, 3, 4):
        driver.ack(end)
        cursor.append(driver.kernel.snapshot().next_commit_seq)
    assert cursor == [1, 1, 3, 3, 3, 3, 4]
    assert driver.kernel.summary.succeeded == 4


@pytest.mark.req("COM-1")
def test_a_run_is_outstanding_until_all_of_it_is_acknowledged() -> None:
    driver = busy(4)
    driver.finish(1, 0)
    driver.finish(2)
    assert driver.ack(1) == []
    assert driver.kernel.snapshot().waiting_for == "the commit lane, from seq 1 on"
    assert [type(command) for command in driver.ack(2)] == [CommitRun]


@pytest.mark.req("COM-2", "INV-1")
@pytest.mark.parametrize("end", [2, 4, 100])
def test_an_acknowledgement_of_what_was_never_handed_over_is_fatal(end: int) -> None:
    driver = busy(4)
    driver.finish(0)
    driver.finish(1)
    with pytest.raises(InvariantViolation, match=f"seq {end - 1} is acknowledged but was never handed"):
        driver.ack(end)


@pytest.mark.req("COM-2")
def test_acknowledged_bytes_are_free() -> None:
    driver = busy(3)
    driver.finish(1, size=5)
    driver.finish(0, size=2)
    before = driver.kernel.snapshot().buffered_bytes
    driver.ack(1)
    assert driver.kernel.snapshot().buffered_bytes == before - 2
    driver.ack(2)
    assert driver.kernel.snapshot().buffered_bytes == before - 7


@pytest.mark.req("WIN-5")
def test_a_window_closes_when_the_cursor_has_passed_its_end_and_the_next_opens_then() -> None:
    driver = busy(6, entries=2)
    driver.finish(0, 1, 2, 3)
    driver.ack()
    assert driver.told(WindowClosed) == []
    assert [window.id for window in driver.told(WindowOpened)] == [0, 1]
    commands = driver.ack()
    assert commands[0] == WindowClosed(id=0, end=1)
    assert isinstance(commands[1], WindowOpened)
    assert (commands[1].id, commands[1].start) == (2, 4)


@pytest.mark.req("WIN-5")
def test_a_window_that_may_still_take_items_does_not_close() -> None:
    driver = Driver(options(entries=3))
    driver.plan(2)
    driver.pull()
    driver.finish(0)
    driver.pull()
    driver.finish(1)
    driver.ack()
    driver.ack()
    assert driver.told(WindowClosed) == []
    assert driver.kernel.snapshot().waiting_for == "the plan"
    driver.plan(0, ended=True)
    assert driver.told(WindowClosed) == [WindowClosed(0, 1)]
    assert driver.kernel.summary.succeeded == 2


class Watched(bytearray):
    """Counts the bytes that are looked at or changed."""

    touched = 0

    def _touch(self, index: int | slice) -> None:
        self.touched += len(range(*index.indices(len(self)))) if isinstance(index, slice) else 1

    def __getitem__(self, index: int | slice) -> int | bytearray:
        self._touch(index)
        return super().__getitem__(index)

    def __setitem__(self, index: int | slice, value: int | bytes) -> None:
        self._touch(index)
        super().__setitem__(index, value)

    def __iter__(self) -> object:
        self.touched += len(self)
        return super().__iter__()

    def count(self, *arguments: int) -> int:
        self.touched += len(self)
        return super().count(*arguments)


@pytest.mark.req("COM-4", "LED-8")
@pytest.mark.parametrize("count", [50, 5000])
def test_a_commit_looks_at_its_own_run_and_not_at_the_rest_of_the_ledger(count: int) -> None:
    driver = Driver.of(count, entries=8192, entries_max=8192, plan_ahead=5000)
    driver.pull()
    ledger = driver.kernel._state.ledger
    ledger.states = watched = Watched(ledger.states)
    driver.finish(0)
    driver.ack()
    assert ledger.states is watched
    assert 0 < watched.touched <= 10


@pytest.mark.slow
@pytest.mark.req("COM-1", "COM-2", "WIN-5")
@given(
    script=st.lists(st.sampled_from(["s", "k", "f", "rs"]), max_size=16),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    workers=st.sampled_from([1, 2, 7]),
    entries=st.integers(1, 6),
    longest=st.integers(1, 5),
)
def test_runs_follow_one_another_without_gap_or_overlap_and_stay_in_one_window(
    script: list[str], choices: list[int], workers: int, entries: int, longest: int
) -> None:
    settings = options(entries=entries, commit_run_max=longest, retries_max=1)
    driver = Story(Driver(settings, total=len(script)), script, choices, workers=workers).to_its_end()
    handed = runs(driver)
    assert [seq for start, end in handed for seq in range(start, end)] == list(range(len(script)))
    assert all(end - start <= longest and start // entries == (end - 1) // entries for start, end in handed)
    assert [closed.end for closed in driver.told(WindowClosed)] == [
        min(end, len(script)) - 1 for end in range(entries, len(script) + entries, entries)
    ]
