"""The rules that every sink must keep, as checks that can be run on your own sink.

A `SinkHarness` is a place where sinks of one kind are opened. It opens a sink there, builds entries for it, and reads
what the sink has written. Each rule takes a function that returns a harness at a fresh place, and raises `BrokenRule`
if the sink breaks the rule.

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
    def test_my_sink(rule, tmp_path_factory):
        rule(lambda: MyHarness(tmp_path_factory.mktemp("sink")))
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from inorder.core.transitions import State
from inorder.errors import BusyError, InvariantViolation

from .base import AppliedRun, Entry, Position, Sink

__all__ = ["RULES", "RUN_LENGTHS", "BrokenRule", "MakeHarness", "ReferenceRun", "SinkHarness", "choose_outcome"]

RUN_LENGTHS = (1, 2, 5, 1, 7)
"""Default lengths of the runs in which entries are applied."""
LONG = 3000
"""Entries in a run that is too long to be a special case."""


class BrokenRule(AssertionError):
    """A sink breaks a rule that a run relies on. The message names it.

    >>> from inorder.testing import BrokenRule
    >>> raise BrokenRule("a new sink must be empty")
    Traceback (most recent call last):
    inorder.sinks.testing.BrokenRule: a new sink must be empty
    """


def expect(condition: bool, rule: str) -> None:
    """Raise `BrokenRule` unless the condition holds."""
    if not condition:
        raise BrokenRule(rule)


def choose_outcome(seq: int) -> State:
    """Choose the outcome of an entry: mostly successes, some skips and failures."""
    return {1: State.TERMINAL_SKIP, 3: State.TERMINAL_FAIL}.get(seq % 5, State.TERMINAL_SUCCESS)


class SinkHarness:
    """A place where sinks of one kind are opened, one after another. Subclass it for your sink.

    `open`, `content`, `applied_seqs` and `damage` must be defined.

    >>> from inorder.sinks import MemorySink
    >>> from inorder.testing import SINK_RULES, SinkHarness
    >>> class MemoryHarness(SinkHarness):
    ...     survives_death = False
    ...     def open(self):
    ...         self.sink = MemorySink()
    ...         return self.sink
    ...     def content(self):
    ...         return list(self.sink.entries)
    ...     def applied_seqs(self):
    ...         return [entry.seq for entry in self.sink.entries if entry.applies]
    ...     def damage(self):
    ...         del self.sink.entries[2]
    >>> for rule in SINK_RULES:
    ...     rule(MemoryHarness)
    """

    survives_death = True
    """Whether applied entries survive the death of the process."""
    stays_ahead = False
    """Whether the sink has transactions and keeps its content when it is rolled back, except to position 0."""
    is_exclusive = False
    """Whether a second sink cannot be opened at the same place."""
    applies_payloads = True
    """Whether the sink applies payloads. One that only publishes files has nothing to do for a partial result."""

    def open(self) -> Sink:
        """Open a sink at this place, which may have content already."""
        raise NotImplementedError

    def content(self) -> object:
        """Return everything that a reader finds there, so that two places can be compared."""
        raise NotImplementedError

    def applied_seqs(self) -> list[int]:
        """Return the seqs whose payload or files a reader finds there, in the order in which they were applied."""
        raise NotImplementedError

    def damage(self) -> None:
        """Remove or change content that was applied, in a way that the sink's positions reveal."""
        raise NotImplementedError

    def entry(self, seq: int, outcome: State) -> Entry:
        """Build a finished item. A success carries what the sink applies, also when it is built a second time."""
        payload = f"result {seq}" if outcome is State.TERMINAL_SUCCESS else None
        return Entry(seq, outcome, item=f"item {seq}", payload=payload)

    def partial_entry(self, seq: int) -> Entry:
        """Build a failed item whose worker had handed over a partial result."""
        return Entry(seq, State.TERMINAL_FAIL, item=f"item {seq}", payload=f"part of result {seq}")

    def write_count(self) -> int | None:
        """Return the number of writes or transactions so far. None: unknown."""
        return None


MakeHarness = Callable[[], SinkHarness]


class ReferenceRun:
    """A run on an open sink that remembers what its journal would know.

    >>> from inorder.sinks import MemorySink
    >>> from inorder.testing import ReferenceRun, SinkHarness
    >>> run = ReferenceRun(SinkHarness(), MemorySink())
    >>> run.apply(3).end
    3
    """

    def __init__(self, harness: SinkHarness, sink: Sink) -> None:
        self.harness = harness
        self.sink = sink
        self.positions = [Position()]
        """The position after each run; the first is that of the empty sink."""
        self.runs: list[AppliedRun] = []
        """Every run that was begun."""
        self.synced = 0
        """How many runs the latest sync covered."""

    @classmethod
    @contextmanager
    def open(cls, harness: SinkHarness) -> Iterator["ReferenceRun"]:
        """Open a sink of the harness inside a `with` block."""
        sink = harness.open()
        try:
            yield cls(harness, sink)
        finally:
            sink.close()

    @property
    def end(self) -> int:
        """The seq at which the next run begins."""
        return self.positions[-1].end

    def apply(self, count: int) -> Position:
        """Apply the next `count` entries in one run."""
        seqs = range(self.end, self.end + count)
        entries = [self.harness.entry(seq, choose_outcome(seq)) for seq in seqs]
        outputs = {entry.seq: entry.outputs for entry in entries if entry.outputs}
        self.runs.append(AppliedRun(seqs.start, seqs.stop, outputs))
        self.positions.append(self.sink.apply(entries))
        return self.positions[-1]

    def apply_all(self, lengths: Sequence[int] = RUN_LENGTHS) -> Position:
        """Apply runs of these lengths."""
        for count in lengths:
            self.apply(count)
        return self.positions[-1]

    def sync(self) -> None:
        """Make everything durable."""
        self.sink.sync()
        self.synced = len(self.runs)

    def holds(self, count: int) -> bool:
        """Whether the sink holds its position after the first `count` runs."""
        return self.sink.holds(self.positions[count], self.runs[self.synced : count])

    def recover(self) -> Position:
        """Roll back to the newest position that is held."""
        self.roll_back(next(count for count in reversed(range(len(self.positions))) if self.holds(count)))
        return self.positions[-1]

    def roll_back(self, count: int) -> None:
        """Roll back to the position after the first `count` runs."""
        self.sink.roll_back(self.positions[count], self.runs[count:])
        del self.positions[count + 1 :], self.runs[count:]
        self.synced = min(self.synced, count)


def check_new_sink_is_empty(make: MakeHarness) -> None:
    """A new sink is at position 0 and holds it. It can be rolled back to it at once, repeatedly and without effect."""
    harness = make()
    with ReferenceRun.open(harness) as run:
        run.sink.roll_back(Position(), ())
        run.sink.roll_back(Position(), ())
        expect(run.sink.position() == Position(), "a new sink is at position 0")
        expect(run.sink.holds(Position(), ()), "position 0 is always held")
        expect(harness.applied_seqs() == [], "a new sink is empty")


def check_every_entry_advances_the_position(make: MakeHarness) -> None:
    """The position ends after the last entry applied, whether that is a success, a skip or a failure."""
    with ReferenceRun.open(make()) as run:
        for end, count in zip((1, 2, 3, 4, 8), (1, 1, 1, 1, 4), strict=True):
            position = run.apply(count)
            expect(position == run.sink.position(), "apply returns the position of the sink")
            expect(position.end == end, f"after seq {end - 1} the position ends at {end}, not at {position.end}")


def check_only_successes_apply_a_payload(make: MakeHarness) -> None:
    """Readers see the payloads of successes, and no others, as soon as `apply` returns."""
    harness = make()
    with ReferenceRun.open(harness) as run:
        for count in RUN_LENGTHS:
            run.apply(count)
            successes = [seq for seq in range(run.end) if choose_outcome(seq) is State.TERMINAL_SUCCESS]
            found = harness.applied_seqs()
            expect(found == successes, f"readers find seqs {found}, expected {successes}")


def check_failure_applies_its_partial_result(make: MakeHarness) -> None:
    """Readers see the partial result of a failure, once, and nothing of a failure without one. It is applied with the
    entries before and after it."""
    harness = make()
    with ReferenceRun.open(harness) as run:
        sink = run.sink
        sink.roll_back(Position(), ())
        outcomes = (State.TERMINAL_SUCCESS, State.TERMINAL_FAIL, State.TERMINAL_FAIL, State.TERMINAL_SUCCESS)
        entries = [harness.entry(seq, outcome) for seq, outcome in enumerate(outcomes)]
        entries[1] = harness.partial_entry(1)
        position = sink.apply(entries)
        expect(position.end == len(entries), "every entry advances the position")
        wanted = [0, 1, 3] if harness.applies_payloads else [0, 3]
        found = harness.applied_seqs()
        expect(found == wanted, f"readers find seqs {found}, expected {wanted}")
        content = harness.content()
        sink.roll_back(Position(), [AppliedRun(0, len(entries), {each.seq: each.outputs for each in entries})])
        expect(harness.applied_seqs() == [], "rolling back to position 0 removes a partial result")
        again = [harness.entry(seq, outcome) for seq, outcome in enumerate(outcomes)]
        again[1] = harness.partial_entry(1)
        expect(sink.apply(again) == position, "the same entries give the same position")
        expect(harness.content() == content, "the same entries give the same content")


def check_empty_run_changes_nothing(make: MakeHarness) -> None:
    """An empty run is allowed at the start and later, and has no effect."""
    harness = make()
    with ReferenceRun.open(harness) as run:
        for _ in range(2):
            before = (run.sink.position(), harness.content(), harness.write_count())
            expect(run.sink.apply([]) == before[0], "an empty run does not change the position")
            after = (run.sink.position(), harness.content(), harness.write_count())
            expect(after == before, "an empty run changes nothing")
            run.apply(3)


def check_a_run_is_one_write(make: MakeHarness) -> None:
    """A run is applied in one write or transaction, however long it is."""
    harness = make()
    with ReferenceRun.open(harness) as run:
        for count in (1, 5, LONG, 1):
            before = harness.write_count()
            run.apply(count)
            after = harness.write_count()
            if before is not None and after is not None:
                expect(after - before == 1, f"a run of {count} entries took {after - before} writes")


def check_division_into_runs_does_not_matter(make: MakeHarness) -> None:
    """One long run, several runs, and single entries give the same content and position."""
    found = []
    for lengths in ((60,), (1,) * 60, (7, 20, 1, 32)):
        harness = make()
        with ReferenceRun.open(harness) as run:
            found.append((run.apply_all(lengths), harness.content()))
    expect(all(each == found[0] for each in found), "the content depends on how the entries were divided into runs")


def check_a_run_that_does_not_follow_is_refused(make: MakeHarness) -> None:
    """A run with a gap, with another start, or applied before is refused, and nothing of it is applied."""
    harness = make()
    with ReferenceRun.open(harness) as run:
        run.apply(3)
        before = harness.content()
        for seqs in ((4, 5), (3, 5), (2, 3)):
            expect(_is_refused(run, seqs), f"after seq 2 a run of seqs {seqs} must be refused")
        expect(harness.content() == before, "a refused run must not change the content")


def _is_refused(run: ReferenceRun, seqs: Sequence[int]) -> bool:
    try:
        run.sink.apply([run.harness.entry(seq, choose_outcome(seq)) for seq in seqs])
    except InvariantViolation:
        return True
    return False


def check_it_holds_its_past_and_nothing_else(make: MakeHarness) -> None:
    """A sink holds each of its earlier positions, but no later position and none of other content."""
    with ReferenceRun.open(make()) as reference, ReferenceRun.open(make()) as run:
        reference.apply_all()
        run.apply_all(RUN_LENGTHS[:-1])
        for count in reversed(range(len(RUN_LENGTHS))):
            is_held = run.sink.holds(reference.positions[count], run.runs[:count])
            expect(is_held, f"the position after the first {count} runs is held")
        position = run.positions[-1]
        other = Position(position.end, position.offset, position.checksum ^ 1)
        expect(run.sink.holds(position, run.runs), "the current position is held")
        if not any(each.outputs for each in run.runs):  # a sink of files checks the files, not the position
            expect(not run.sink.holds(other, ()), "a position with another checksum is not held")
        expect(not run.sink.holds(reference.positions[-1], reference.runs), "a later position is not held")


def check_roll_back_restores_the_content(make: MakeHarness) -> None:
    """Any earlier position can be restored, repeatedly. The same entries applied again give the same content."""
    for count in range(len(RUN_LENGTHS) + 1):
        harness = make()
        with ReferenceRun.open(harness) as run:
            contents = [harness.content()]
            for length in RUN_LENGTHS:
                run.apply(length)
                contents.append(harness.content())
            undone = run.runs[count:]
            run.roll_back(count)
            run.sink.roll_back(run.positions[count], undone)
            expect(run.sink.position() == run.positions[count], "roll_back sets the position")
            if not harness.stays_ahead or count == 0:
                expect(harness.content() == contents[count], f"rolled back to {count} runs, the content differs")
            run.apply_all(RUN_LENGTHS[count:])
            expect(harness.content() == contents[-1], "the same entries applied again give other content")


def check_it_survives_the_death_of_its_process(make: MakeHarness) -> None:
    """A process is killed after a run, with or without the last position in the journal; the next one recovers."""
    reference = make()
    with ReferenceRun.open(reference) as whole:
        whole.apply_all()
    for count in range(1, len(RUN_LENGTHS)):
        for known in (count, count - 1):
            harness = make()
            _apply_and_die(harness, RUN_LENGTHS[:count])
            with ReferenceRun.open(harness) as run:
                run.positions, run.runs = whole.positions[: known + 1], whole.runs[:count]
                held = run.recover()
                if harness.survives_death:
                    expect(held == whole.positions[known], f"{known} runs were applied, but {held} is the newest held")
                run.apply_all(RUN_LENGTHS[run.positions.index(held) :])
                expect(harness.content() == reference.content(), "the content differs after a crash and a recovery")


def _apply_and_die(harness: SinkHarness, lengths: Sequence[int]) -> None:
    child = os.fork()
    if child == 0:
        try:
            ReferenceRun(harness, harness.open()).apply_all(lengths)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    expect(os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "the process failed before it was killed")


def check_it_resumes_after_sync_and_close(make: MakeHarness) -> None:
    """A closed sink resumes. Repeated syncs, syncs with nothing to sync and a second `close` have no effect."""
    harness, reference = make(), make()
    with ReferenceRun.open(reference) as whole:
        whole.apply_all()
    if not harness.survives_death:
        return
    positions: list[Position] = [Position()]
    runs: list[AppliedRun] = []
    for count in RUN_LENGTHS:
        with ReferenceRun.open(harness) as run:
            run.positions, run.runs, run.synced = positions, runs, len(runs)
            expect(run.recover() == positions[-1], "what was synced is held")
            run.sync()
            run.apply(count)
            run.sync()
            run.sync()
            run.sink.close()
            positions, runs = run.positions, run.runs
    expect(harness.content() == reference.content(), "closing and opening changed the content")


def check_only_one_can_be_open(make: MakeHarness) -> None:
    """Opening a second sink at the same place raises `BusyError` and changes nothing."""
    harness = make()
    if not harness.is_exclusive:
        return
    with ReferenceRun.open(harness) as run:
        run.apply(2)
        try:
            harness.open().close()
        except BusyError as error:
            expect(str(os.getpid()) in str(error), "the error names the process that has the sink open")
        else:
            raise BrokenRule("two sinks were open at the same place")
        run.apply(2)
    harness.open().close()


def check_damaged_content_is_not_held(make: MakeHarness) -> None:
    """A sink does not hold a position whose content was lost or changed."""
    harness = make()
    with ReferenceRun.open(harness) as run:
        run.apply_all()
        expect(run.holds(len(run.runs)), "the current position is held")
        if not harness.survives_death:
            harness.damage()
            expect(not run.holds(len(run.runs)), "damaged content is not held")
            return
    harness.damage()
    with ReferenceRun.open(harness) as again:
        again.positions, again.runs = run.positions, run.runs
        expect(not again.holds(len(run.runs)), "damaged content is not held")


RULES: tuple[Callable[[MakeHarness], None], ...] = (
    check_new_sink_is_empty,
    check_every_entry_advances_the_position,
    check_only_successes_apply_a_payload,
    check_failure_applies_its_partial_result,
    check_empty_run_changes_nothing,
    check_a_run_is_one_write,
    check_division_into_runs_does_not_matter,
    check_a_run_that_does_not_follow_is_refused,
    check_it_holds_its_past_and_nothing_else,
    check_roll_back_restores_the_content,
    check_it_survives_the_death_of_its_process,
    check_it_resumes_after_sync_and_close,
    check_only_one_can_be_open,
    check_damaged_content_is_not_held,
)
