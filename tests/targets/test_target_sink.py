"""The sink of a target: the rules of sinks, and where a new run begins."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inorder.core.transitions import State
from inorder.sinks.base import Position
from inorder.sinks.testing import RULES, MakeHarness
from inorder.targets.sink import TargetSink
from tests.targets.file_target import FileTarget, read_file
from tests.targets.harnesses import FileTargetHarness


@pytest.mark.process
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_sink_of_a_target_keeps_the_rule(
    rule: Callable[[MakeHarness], None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rule(lambda: FileTargetHarness(tmp_path_factory.mktemp("target")))


@pytest.fixture
def harness(tmp_path: Path) -> FileTargetHarness:
    return FileTargetHarness(tmp_path)


def apply(sink: TargetSink, harness: FileTargetHarness, start: int, end: int) -> Position:
    return sink.apply([harness.entry(seq, State.TERMINAL_SUCCESS) for seq in range(start, end)])


def test_a_new_run_begins_at_what_the_target_holds(harness: FileTargetHarness) -> None:
    first = TargetSink(harness.target)
    apply(first, harness, 0, 3)
    again = TargetSink(harness.target)
    again.roll_back(again.origin(), ())
    assert again.position().end == 0
    assert harness.applied_seqs() == [0, 1, 2]
    assert apply(again, harness, 0, 2).offset == 5
    assert harness.applied_seqs() == [0, 1, 2]


def test_positions_of_another_run_are_not_held(harness: FileTargetHarness) -> None:
    sink = TargetSink(harness.target)
    origin = sink.origin()
    sink.roll_back(origin, ())
    earlier = apply(sink, harness, 0, 2)
    sink.roll_back(sink.origin(), ())
    apply(sink, harness, 0, 3)
    assert not sink.holds(earlier, ())
    assert not sink.holds(origin, ())


def test_a_target_with_nothing_new_is_not_synced_again(harness: FileTargetHarness) -> None:
    sink = TargetSink(harness.target)
    apply(sink, harness, 0, 1)
    sink.sync()
    sink.sync()
    sink.complete()
    assert harness.target.events == ["sync", "complete"]


def test_after_a_failed_write_the_position_is_unknown(
    harness: FileTargetHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = TargetSink(harness.target)

    def fail(*arguments: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(harness.target, "write", fail)
    with pytest.raises(OSError, match="no space"):
        apply(sink, harness, 0, 1)
    with pytest.raises(Exception, match="must be rolled back"):
        sink.position()
    assert read_file(FileTarget(harness.path).path)["documents"] == {}
