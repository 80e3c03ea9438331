"""The loop of a watch, with a scripted feed and a virtual clock: when it runs, and what it survives."""

import pytest

from inorder.errors import BusyError, InfrastructureError, IntegrityError, OperatorError
from inorder.watch.changes import SourceChanges
from inorder.watch.contracts import RunResult
from inorder.watch.loop import BACKOFF_MS_MAX
from tests.watch.scripted import DONE, END, Script

ONE = SourceChanges(1, ("a",))


def test_it_runs_at_once_and_after_every_change_that_has_settled() -> None:
    script = Script([(5_000, ONE), (5_300, ONE), (60_000, ONE)], [DONE, DONE])
    assert script.watch(settle_s=0.5) == 143
    assert script.runs == [(0, 0), (5_800, 2), (60_500, 1)]
    assert script.prepared == 3


def test_a_stream_of_changes_is_run_at_the_upper_bound() -> None:
    script = Script([(number * 100, ONE) for number in range(10, 100)], [DONE])
    assert script.watch(settle_s=0.5, settle_s_max=2.0) == 143
    assert script.runs == [(0, 0), (3_000, 21)]


def test_a_burst_of_10_000_changes_is_one_run() -> None:
    burst = [(1_000 + number // 100, ONE) for number in range(10_000)]
    script = Script([*burst, (90_000, ONE)], [DONE, DONE])
    script.watch()
    assert [count for _, count in script.runs] == [0, 10_000, 1]


def test_changes_during_a_run_are_followed_by_another_one() -> None:
    script = Script([(1_000, ONE), (4_000, ONE), (7_000, ONE)], [DONE, DONE])
    script.run_ms = 5_000
    script.watch(settle_s=0.5)
    assert script.runs == [(0, 0), (5_500, 2), (11_000, 1)]


def test_a_run_with_failed_items_does_not_end_the_watch() -> None:
    script = Script([(1_000, ONE), (9_000, ONE)], [RunResult(3), RunResult(4)])
    assert script.watch() == 143
    assert len(script.runs) == 3
    assert script.list_seen("retry") == []


@pytest.mark.parametrize("failure", [InfrastructureError("no space left"), BusyError("in use"), OSError(5, "broken")])
def test_a_failure_that_may_pass_is_retried_with_growing_waits(failure: Exception) -> None:
    script = Script(results=[failure] * 9 + [DONE, failure])
    script.events = [(600_000, ONE)]
    script.watch(settle_s=0.5)
    waits = [wait_ms for _, wait_ms in script.list_seen("retry")]
    assert waits == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, *[BACKOFF_MS_MAX] * 3, 1_000]
    assert script.list_seen("ended")[0] == (getattr(failure, "exit_code", 1),)


def test_a_run_that_the_machine_stopped_is_repeated_without_a_change() -> None:
    script = Script(results=[RunResult(1, "embed: lost 9 workers"), DONE])
    script.events = [(50_000, ONE)]
    script.watch(settle_s=0.5)
    assert script.runs == [(0, 0), (1_100, 0), (50_500, 1)]


def test_a_change_does_not_shorten_the_wait_before_a_retry() -> None:
    script = Script([(500, ONE)], [InfrastructureError("no space left"), DONE])
    script.events.append((9_000, ONE))
    script.watch(settle_s=0.1)
    assert script.runs == [(0, 0), (1_100, 1), (9_100, 1)]


def test_an_operator_error_ends_the_watch_before_its_first_complete_run() -> None:
    script = Script(results=[BusyError("in use"), OperatorError("no such provider")])
    with pytest.raises(OperatorError, match="no such provider"):
        script.watch()
    assert len(script.runs) == 2


def test_an_operator_error_after_a_complete_run_is_retried() -> None:
    script = Script([(1_000, ONE)], [DONE, OperatorError("cannot read inorder.toml"), DONE])
    script.events.append((60_000, ONE))
    assert script.watch() == 143
    assert script.list_seen("retry") == [("cannot read inorder.toml", 1_000)]


def test_damaged_data_end_the_watch() -> None:
    script = Script([(1_000, ONE)], [DONE, IntegrityError("checksum mismatch")])
    with pytest.raises(IntegrityError):
        script.watch()


def test_nothing_is_run_while_a_source_is_missing_and_its_return_is_followed_by_a_run() -> None:
    script = Script([(1_000, ONE)], [DONE])
    script.absent = lambda now_ms: ["no such file or directory: docs"] if 900 <= now_ms < 30_000 else []
    script.watch(settle_s=0.5)
    assert script.list_seen("waiting") == [("no such file or directory: docs",), ("",)]
    [_, (started_ms, _)] = script.runs
    assert 30_000 <= started_ms < 32_000


def test_an_interrupted_run_ends_the_watch_with_its_exit_code() -> None:
    script = Script(results=[END])
    assert script.watch() == 143
    assert len(script.runs) == 1


def at(*paths: str) -> SourceChanges:
    return SourceChanges(len(paths), paths, frozenset(paths))


def test_a_run_is_told_of_the_paths_that_have_changed_and_the_first_one_of_none() -> None:
    script = Script([(5_000, at("a", "b")), (5_300, at("c"))], [DONE])
    script.watch(settle_s=0.5)
    assert script.hints == [None, frozenset("abc")]


def test_a_change_of_which_no_path_is_known_has_everything_compared() -> None:
    script = Script([(5_000, at("a")), (5_300, ONE), (60_000, at("b"))], [DONE, DONE])
    script.watch(settle_s=0.5)
    assert script.hints == [None, None, frozenset("b")]


@pytest.mark.parametrize("result", [InfrastructureError("no space left"), RunResult(1, "lost 9 workers"), RunResult(4)])
def test_after_a_run_that_was_not_complete_everything_is_compared(result: object) -> None:
    script = Script([(5_000, at("a")), (60_000, at("b")), (90_000, at("c"))], [DONE, result, DONE])
    script.watch(settle_s=0.5)
    assert script.hints[:3] == [None, frozenset("a"), None]
    assert script.hints[3:]
    assert None not in script.hints[3:]


def test_failed_files_do_not_have_everything_compared() -> None:
    script = Script([(5_000, at("a"))], [RunResult(3)])
    script.watch(settle_s=0.5)
    assert script.hints == [None, frozenset("a")]


def test_a_source_that_came_back_has_everything_compared() -> None:
    script = Script([(1_000, at("a"))], [DONE])
    script.absent = lambda now_ms: ["no such file or directory: docs"] if 900 <= now_ms < 30_000 else []
    script.watch(settle_s=0.5)
    assert script.hints == [None, None]
