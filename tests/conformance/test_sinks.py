"""The conformance rules, checked on every sink of the package and on the one in the documentation.

The rules are in `inorder.sinks.testing`, for authors of other sinks. Another sink joins by one line in `HARNESSES`.
The last tests check the rules themselves: each sink has a typical mistake, which a rule must detect.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inorder.host.filesystem import SystemFilesystem
from inorder.sinks import testing as rules
from inorder.sinks.base import AppliedRun, Entry, Position, Sink
from inorder.sinks.memory import MemorySink
from inorder.sinks.testing import RULES, BrokenRule, MakeHarness, SinkHarness
from tests.sinks.harnesses import (
    KeepingHarness,
    ManifestHarness,
    MemoryHarness,
    OutputsHarness,
    SqliteHarness,
)

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-sink.md"

Rule = Callable[[MakeHarness], None]


def make_documented_harness(folder: Path) -> SinkHarness:
    """The harness of the page on writing sinks, made by running what stands there."""
    [sink, _, harness, _] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(sink + harness, str(PAGE), "exec"), names)
    made: SinkHarness = names["DocumentHarness"](folder)
    return made


HARNESSES: dict[str, Callable[[Path], SinkHarness]] = {
    "memory": lambda folder: MemoryHarness(),
    "manifest": ManifestHarness,
    "outputs": lambda folder: OutputsHarness(SystemFilesystem(), str(folder)),
    "sqlite": SqliteHarness,
    "sqlite that keeps": KeepingHarness,
    "make_documented_harness": make_documented_harness,
}

PROVES: dict[Rule, tuple[str, ...]] = {
    rules.check_a_run_is_one_write: ("COM-1",),
    rules.check_a_run_that_does_not_follow_is_refused: ("COM-1",),
    rules.check_every_entry_advances_the_position: ("COM-2", "JRN-2"),
    rules.check_only_successes_apply_a_payload: ("COM-2",),
    rules.check_failure_applies_its_partial_result: ("COM-2",),
}


def _rule(rule: Rule) -> Any:
    return pytest.param(rule, id=rule.__name__, marks=[pytest.mark.req(each) for each in PROVES.get(rule, ())])


@pytest.mark.process
@pytest.mark.parametrize("kind", HARNESSES)
@pytest.mark.parametrize("rule", [_rule(rule) for rule in RULES])
def test_a_sink_keeps_the_rule(kind: str, rule: Rule, tmp_path_factory: pytest.TempPathFactory) -> None:
    rule(lambda: HARNESSES[kind](tmp_path_factory.mktemp(kind)))


class Unmoved(MemorySink):
    """Only successes move it."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        return super().apply([entry for entry in entries if entry.is_success])


class Generous(MemorySink):
    """Gives everybody a payload."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        return super().apply([msgspec.structs.replace(entry, payload="something") for entry in entries])


class Restless(MemorySink):
    """An empty run moves it."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        self._position = msgspec.structs.replace(super().apply(entries), offset=len(self.entries) + (not entries))
        return self._position


class Counting(MemorySink):
    """Its position counts runs."""

    runs = 0

    def apply(self, entries: Sequence[Entry]) -> Position:
        self.runs += 1
        self._position = msgspec.structs.replace(super().apply(entries), offset=self.runs)
        return self._position


class Careless(MemorySink):
    """Takes whatever comes."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        self._position = Position(entries[0].seq) if entries else self._position
        return super().apply(entries)


class Boastful(MemorySink):
    """Says that it holds everything."""

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        return True


class Forgetful(MemorySink):
    """Says that it holds nothing but the beginning."""

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        return position == Position()


class Stubborn(MemorySink):
    """Keeps what it was told to give back."""

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        self._position = position


class Elsewhere(MemoryHarness):
    """A place for a sink of another kind, of which more or less is claimed."""

    def __init__(self, kind: type[MemorySink] = MemorySink, **claims: bool) -> None:
        super().__init__()
        self._kind = kind
        vars(self).update(claims)

    def open(self) -> Sink:
        self.sink = self._kind()
        return self.sink


class Piecemeal(ManifestHarness):
    """Every entry is an append of its own."""

    def open(self) -> Sink:
        sink = super().open()
        whole = sink.apply
        sink.apply = lambda entries: [whole([entry]) for entry in entries][-1]  # type: ignore[method-assign]
        return sink


class Buffered(ManifestHarness):
    """What is applied_seqs is written when the sink is closed."""

    def open(self) -> Sink:
        sink = super().open()
        file, late = self.filesystem.files[-1], list[bytes]()
        append, close = file.append, file.close

        def flush_and_close() -> None:
            append(b"".join(late))
            late.clear()
            close()

        file.append, file.close = late.append, flush_and_close  # type: ignore[method-assign]
        return sink


@pytest.mark.process
@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda folder: Elsewhere(Unmoved), rules.check_every_entry_advances_the_position),
        (lambda folder: Elsewhere(Generous), rules.check_only_successes_apply_a_payload),
        (lambda folder: Elsewhere(Restless), rules.check_empty_run_changes_nothing),
        (lambda folder: Elsewhere(Counting), rules.check_division_into_runs_does_not_matter),
        (lambda folder: Elsewhere(Careless), rules.check_a_run_that_does_not_follow_is_refused),
        (lambda folder: Elsewhere(Boastful), rules.check_it_holds_its_past_and_nothing_else),
        (lambda folder: Elsewhere(Forgetful), rules.check_it_holds_its_past_and_nothing_else),
        (lambda folder: Elsewhere(Stubborn), rules.check_roll_back_restores_the_content),
        (lambda folder: Elsewhere(Boastful), rules.check_damaged_content_is_not_held),
        (lambda folder: Elsewhere(survives_death=True), rules.check_it_survives_the_death_of_its_process),
        (lambda folder: Elsewhere(survives_death=True), rules.check_it_resumes_after_sync_and_close),
        (lambda folder: Elsewhere(is_exclusive=True), rules.check_only_one_can_be_open),
        (Piecemeal, rules.check_a_run_is_one_write),
        (Buffered, rules.check_it_survives_the_death_of_its_process),
        (Buffered, rules.check_only_successes_apply_a_payload),
    ],
)
def test_a_sink_with_a_mistake_breaks_the_rule(
    make: Callable[[Path], SinkHarness], rule: Rule, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(BrokenRule):
        rule(lambda: make(tmp_path_factory.mktemp("mistaken")))
