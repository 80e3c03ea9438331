"""What happens to an interrupted run whose plan or configuration is another one when it is run again."""

import os
import signal
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import inorder
from inorder.core.commands import RetryScheduled
from inorder.stage.monitor.monitor import RunMonitor
from inorder.stage.plan_identity import find_resume_seq
from tests.stage.jobs import Place
from tests.stage.workers import obey

NAMES = [f"item-{number:04}" for number in range(30)]


class Lazy:
    """A plan that is read as the run goes on, and can be read again."""

    def __init__(self, items: Iterable[inorder.WorkItem]) -> None:
        self._items = list(items)

    def __iter__(self) -> Iterator[inorder.WorkItem]:
        return iter(self._items)


def interrupt(place: Place, items: Any, **options: Any) -> int:
    """Run until the tenth item is committed; how many are in the end."""

    def after_item(item: inorder.WorkItem, result: object, ctx: object) -> None:
        if item.item_id == NAMES[9]:
            os.kill(os.getpid(), signal.SIGTERM)

    def worker(item: inorder.WorkItem, ctx: Any) -> Any:
        if item.item_id == NAMES[15]:
            raise inorder.StageError("not yet", category="io", retryable=True)
        return obey(item, ctx)

    known = {"workers": 1, "cancel_grace_s": 60, "retries": 1000, "retry_backoff_s": 0.01}
    outcome = place.run(items, worker, inorder.StageHooks(after_item=after_item), **(known | options))
    assert outcome.stop_kind == "cancelled"
    place.called()
    return outcome.succeeded


def run_again(place: Place, items: Any, **options: Any) -> inorder.StageOutcome:
    """The next run, which does what it was foretold to do."""
    foretold = find_resume_seq(place.plan(items), place.options(**options))
    outcome = place.run(items, **options)
    assert outcome.resumed_at == foretold
    return outcome


def check_computed(place: Place, outcome: inorder.StageOutcome, names: list[str]) -> None:
    """Each of these items is computed once, or was staged by the interrupted run and is adopted."""
    called = place.called()
    assert len(called) == len(set(called))
    assert set(called) <= set(names)
    assert len(called) + outcome.adopted == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [list, Lazy])
@pytest.mark.req("JRN-3")
def test_an_unchanged_plan_goes_on_where_it_stopped(place: Place, kind: Any) -> None:
    done = interrupt(place, kind(place.items(30)))
    outcome = run_again(place, kind(place.items(30)))
    assert 10 <= done <= 15
    assert (outcome.resumed_at, outcome.succeeded, outcome.skipped) == (done, 30, 0)
    check_computed(place, outcome, NAMES[done:])
    assert len(place.runs()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", [list, Lazy])
@pytest.mark.parametrize("place_of_change", [2, 5])
@pytest.mark.req("JRN-3", "RUN-4")
def test_a_changed_item_that_was_committed_begins_a_new_run_that_skips_the_others(
    place: Place, kind: Any, place_of_change: int
) -> None:
    done = interrupt(place, kind(place.items(30)))
    items = place.items(30)
    items[place_of_change] = place.item(NAMES[place_of_change], cfg_hash="2")
    outcome = run_again(place, kind(items))
    assert (outcome.resumed_at, outcome.skipped, outcome.succeeded) == (None, done - 1, 31 - done)
    check_computed(place, outcome, [NAMES[place_of_change], *NAMES[done:]])
    assert [len(run) for run in place.runs()] == [done + 1, 31]


@pytest.mark.parametrize("kind", [list, Lazy])
@pytest.mark.req("JRN-3", "RUN-4")
def test_a_plan_that_got_shorter_than_what_is_committed_begins_anew(place: Place, kind: Any) -> None:
    interrupt(place, kind(place.items(30)))
    outcome = run_again(place, kind(place.items(4)))
    assert (outcome.resumed_at, outcome.skipped, outcome.scheduled) == (None, 4, 4)
    assert place.called() == []


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_a_change_beyond_what_is_committed_does_not_disturb_a_plan_that_is_read_as_it_goes(place: Place) -> None:
    done = interrupt(place, Lazy(place.items(30)))
    outcome = run_again(place, Lazy([*place.items(20), place.item("other")]))
    assert (outcome.resumed_at, outcome.succeeded) == (done, 21)


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_a_plan_that_can_be_read_only_once_goes_on_if_it_is_the_same(place: Place) -> None:
    done = interrupt(place, iter(place.items(30)))
    outcome = place.run(iter(place.items(30)))
    assert (outcome.resumed_at, outcome.succeeded) == (done, 30)


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_a_plan_that_can_be_read_only_once_and_is_another_is_refused_with_what_to_do(place: Place) -> None:
    done = interrupt(place, iter(place.items(30)))
    before = place.published()
    with pytest.raises(inorder.OperatorError, match="give StagePlan a list, or run with resume off"):
        place.run(iter(list(reversed(place.items(30)))))
    assert place.published() == before
    assert place.called() == []
    assert place.run(iter(place.items(30))).resumed_at == done


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"force": True}, {"resume": False}, {"fingerprinting": False}])
@pytest.mark.req("RUN-4")
def test_a_run_that_does_not_want_to_go_on_begins_anew(place: Place, options: dict[str, bool]) -> None:
    done = interrupt(place, place.items(30))
    outcome = run_again(place, place.items(30), **options)
    assert outcome.resumed_at is None
    redone = NAMES if "fingerprinting" not in options else NAMES[done:]
    check_computed(place, outcome, redone)


@pytest.mark.slow
@pytest.mark.req("JRN-3")
def test_an_input_that_changed_after_its_item_was_committed_is_seen_by_the_run_after_next(place: Place) -> None:
    """A run that goes on does not look at what is committed. The next one does."""
    done = interrupt(place, place.items(30))
    place.source(NAMES[0], "changed\n")
    assert run_again(place, place.items(30)).resumed_at == done
    assert place.loud(NAMES[0]) == f"TEXT OF {NAMES[0].upper()}\n"
    outcome = run_again(place, place.items(30))
    assert (outcome.succeeded, outcome.skipped) == (1, 29)
    assert place.loud(NAMES[0]) == "CHANGED\n"


@pytest.mark.req("JRN-3")
def test_retries_that_were_spent_before_an_interruption_stay_spent(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [place.item("a"), place.item("b", "unreachable"), place.item("c")]
    observe = RunMonitor.observe

    def interrupt_retry(monitor: RunMonitor, now_ms: int, event: Any, commands: Any) -> None:
        observe(monitor, now_ms, event, commands)
        if any(isinstance(command, RetryScheduled) for command in commands or ()):
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(RunMonitor, "observe", interrupt_retry)
        stopped = place.run(items, retries=1, retry_backoff_s=1000)
    assert (stopped.stop_kind, place.called().count("b")) == ("cancelled", 1)
    outcome = place.run(items, retries=1)
    assert (outcome.failed, place.row("b")["attempts"]) == (1, 2)
    assert place.called().count("b") == 1, "the only retry was granted before the interruption"


@pytest.mark.slow
def test_a_journal_with_a_torn_end_goes_on_with_a_warning(place: Place) -> None:
    done = interrupt(place, place.items(30))
    path = place.data / "journal" / "shout.journal"
    path.write_bytes(path.read_bytes() + b"\x40torn")
    outcome = run_again(place, place.items(30))
    assert (outcome.resumed_at, outcome.succeeded) == (done, 30)
    assert "torn tail" in outcome.warnings[0]


@pytest.mark.slow
def test_a_damaged_journal_is_refused_and_nothing_is_touched(place: Place) -> None:
    interrupt(place, place.items(30), fsync="batch")
    path = place.data / "journal" / "shout.journal"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    before = place.published()
    with pytest.raises(inorder.IntegrityError, match="restore it from a backup, or remove it to start over"):
        place.run(place.items(30))
    assert place.published() == before
    path.unlink()
    assert place.run(place.items(30)).scheduled == 30


@pytest.mark.slow
def test_an_output_that_vanished_after_an_interruption_is_made_again(place: Place) -> None:
    interrupt(place, place.items(30), fsync="batch")
    os.unlink(place.data / "loud" / f"{NAMES[3]}.txt")
    run_again(place, place.items(30))
    assert run_again(place, place.items(30)).scheduled == 30
    assert place.loud(NAMES[3]) == f"TEXT OF {NAMES[3].upper()}\n"


@pytest.mark.req("JRN-3")
def test_a_finished_run_whose_last_sync_failed_is_gone_over_again(place: Place) -> None:
    """What reads well may be nowhere but in memory: the run goes on from what was synced before."""
    place.run(place.items(5), fsync="batch")
    mark = place.data / "journal" / "shout.journal.distrusted"
    mark.write_text("0\n")
    place.called()
    outcome = place.run(place.items(5), fsync="batch")
    assert outcome.scheduled == 5
    assert not mark.exists()
    assert [row["seq"] for row in place.runs()[-1][1:]] == list(range(5))
    assert len(place.published()) == 10
