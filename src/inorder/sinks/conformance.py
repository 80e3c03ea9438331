"""What any sink must do, as rules that can be tried on yours.

A `Stand` is a place for a sink of the kind under test: it opens one there, makes entries for it, and says what a reader
finds. Each rule takes a function that makes a stand at a fresh place, and raises `BrokenRule` where the sink fails it.

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
    def test_my_sink(rule, tmp_path_factory):
        rule(lambda: MyStand(tmp_path_factory.mktemp("place")))
"""

import os
import signal
from collections.abc import Callable, Sequence

from inorder.core.transitions import State
from inorder.errors import BusyError, InvariantViolation

from .base import Position, Trace
from .trial import CUTS, BrokenRule, Diary, Stand, demand, opened, outcome_of

__all__ = ["CUTS", "RULES", "BrokenRule", "Diary", "Make", "Stand", "opened", "outcome_of"]

LARGE = 3000
"""Entries in a run that is too long to be a special case."""

Make = Callable[[], Stand]


def a_new_sink_is_empty(make: Make) -> None:
    """It stands at position 0, which it holds; rolling back to it changes nothing, and needs no run before."""
    stand = make()
    with opened(stand) as diary:
        diary.sink.roll_back(Position(), ())
        diary.sink.roll_back(Position(), ())
        demand(diary.sink.position() == Position(), "a new sink stands at position 0")
        demand(diary.sink.holds(Position(), ()), "position 0 is always held")
        demand(stand.applied() == [], "a new sink is empty")


def every_entry_moves_the_position(make: Make) -> None:
    """Skips and failures too."""
    with opened(make()) as diary:
        for end, count in zip((1, 2, 3, 4, 8), (1, 1, 1, 1, 4), strict=True):
            position = diary.apply(count)
            demand(position == diary.sink.position(), "apply returns where the sink stands")
            demand(position.end == end, f"after seq {end - 1} the position ends at {end}, not at {position.end}")


def only_a_success_applies_a_payload(make: Make) -> None:
    """Everybody sees it as soon as `apply` returns."""
    stand = make()
    with opened(stand) as diary:
        for count in CUTS:
            diary.apply(count)
            successes = [seq for seq in range(diary.end) if outcome_of(seq) is State.TERMINAL_SUCCESS]
            demand(stand.applied() == successes, f"readers find {stand.applied()} and not {successes}")


def an_empty_run_changes_nothing(make: Make) -> None:
    """At the start or later."""
    stand = make()
    with opened(stand) as diary:
        for _ in range(2):
            before = (diary.sink.position(), stand.content(), stand.acts())
            demand(diary.sink.apply([]) == before[0], "an empty run leaves the position")
            demand((diary.sink.position(), stand.content(), stand.acts()) == before, "an empty run changes nothing")
            diary.apply(3)


def a_run_is_one_act(make: Make) -> None:
    """However long it is."""
    stand = make()
    with opened(stand) as diary:
        for count in (1, 5, LARGE, 1):
            before = stand.acts()
            diary.apply(count)
            after = stand.acts()
            if before is not None and after is not None:
                demand(after - before == 1, f"a run of {count} took {after - before} acts")


def how_entries_are_cut_into_runs_does_not_matter(make: Make) -> None:
    """One large run, many, and single entries give the same, with the same position."""
    found = []
    for cuts in ((60,), (1,) * 60, (7, 20, 1, 32)):
        stand = make()
        with opened(stand) as diary:
            found.append((diary.apply_all(cuts), stand.content()))
    demand(all(each == found[0] for each in found), "what a sink holds depends on how its entries were cut into runs")


def a_run_that_does_not_follow_is_refused(make: Make) -> None:
    """A hole, a start elsewhere, a second time: nothing of it is applied."""
    stand = make()
    with opened(stand) as diary:
        diary.apply(3)
        before = stand.content()
        for seqs in ((4, 5), (3, 5), (2, 3)):
            demand(_is_refused(diary, seqs), f"after seq 2 a run of seqs {seqs} must be refused")
        demand(stand.content() == before, "a refused run must leave nothing behind")


def _is_refused(diary: Diary, seqs: Sequence[int]) -> bool:
    try:
        diary.sink.apply([diary.stand.entry(seq, outcome_of(seq)) for seq in seqs])
    except InvariantViolation:
        return True
    return False


def it_holds_what_it_held_and_nothing_else(make: Make) -> None:
    """The past, and neither the future nor somebody else's past."""
    with opened(make()) as reference, opened(make()) as diary:
        reference.apply_all()
        diary.apply_all(CUTS[:-1])
        for runs in reversed(range(len(CUTS))):
            held = diary.sink.holds(reference.positions[runs], diary.traces[:runs])
            demand(held, f"what was applied in the first {runs} runs is held")
        position = diary.positions[-1]
        other = Position(position.end, position.offset, position.checksum ^ 1)
        demand(diary.sink.holds(position, diary.traces), "it holds where it stands")
        if not any(trace.outputs for trace in diary.traces):  # who keeps files looks at the files and nothing else
            demand(not diary.sink.holds(other, ()), "a position with another checksum is not held")
        demand(not diary.sink.holds(reference.positions[-1], reference.traces), "the future is not held")


def rolled_back_it_is_what_it_was(make: Make) -> None:
    """To every earlier position, and twice is once; the same entries again give the same bytes."""
    for runs in range(len(CUTS) + 1):
        stand = make()
        with opened(stand) as diary:
            seen = [stand.content()]
            for count in CUTS:
                diary.apply(count)
                seen.append(stand.content())
            undone = diary.traces[runs:]
            diary.roll_back(runs)
            diary.sink.roll_back(diary.positions[runs], undone)
            demand(diary.sink.position() == diary.positions[runs], "rolled back, it stands where it was told")
            if not stand.stays_ahead or runs == 0:
                demand(stand.content() == seen[runs], f"rolled back to {runs} runs it is not what it was")
            diary.apply_all(CUTS[runs:])
            demand(stand.content() == seen[-1], "the same entries again give something else")


def it_outlives_its_process(make: Make) -> None:
    """A process dies, as by kill -9, after some runs; the next finds what was applied and goes on. The journal may know
    of the latest run, or not yet."""
    reference = make()
    with opened(reference) as whole:
        whole.apply_all()
    for runs in range(1, len(CUTS)):
        for known in (runs, runs - 1):
            stand = make()
            _in_a_process_that_dies(stand, CUTS[:runs])
            with opened(stand) as diary:
                diary.positions, diary.traces = whole.positions[: known + 1], whole.traces[:runs]
                held = diary.recover()
                if stand.survives_death:
                    demand(held == whole.positions[known], f"of {known} runs that were applied, {held} is left")
                done = diary.positions.index(held)
                diary.apply_all(CUTS[done:])
                demand(stand.content() == reference.content(), "after a death and a recovery there is something else")


def _in_a_process_that_dies(stand: Stand, cuts: Sequence[int]) -> None:
    child = os.fork()
    if child == 0:
        try:
            Diary(stand, stand.open()).apply_all(cuts)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    demand(os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "the process failed before it could be killed")


def synced_and_opened_again_it_goes_on(make: Make) -> None:
    """With syncs here and there, also where there is nothing to sync; and it can be closed twice."""
    stand, reference = make(), make()
    with opened(reference) as whole:
        whole.apply_all()
    if not stand.survives_death:
        return
    positions: list[Position] = [Position()]
    traces: list[Trace] = []
    for count in CUTS:
        with opened(stand) as diary:
            diary.positions, diary.traces, diary.synced = positions, traces, len(traces)
            demand(diary.recover() == positions[-1], "what was synced is held")
            diary.sync()
            diary.apply(count)
            diary.sync()
            diary.sync()
            diary.sink.close()
            positions, traces = diary.positions, diary.traces
    demand(stand.content() == reference.content(), "closing and opening changed something")


def only_one_can_be_open(make: Make) -> None:
    """The second is told that the place is in use, and harms nothing."""
    stand = make()
    if not stand.is_exclusive:
        return
    with opened(stand) as diary:
        diary.apply(2)
        try:
            stand.open().close()
        except BusyError as error:
            demand(str(os.getpid()) in str(error), "whoever comes second is told who has it")
        else:
            raise BrokenRule("two were open at the same place")
        diary.apply(2)
    stand.open().close()


def harm_is_found(make: Make) -> None:
    """`verify` finds nothing wrong before, and something after."""
    stand = make()
    with opened(stand) as diary:
        diary.apply_all()
        wrong = diary.sink.verify(diary.positions[-1])
        demand(wrong == [], f"nothing was wrong, but it says {wrong}")
        stand.tamper()
        demand(diary.sink.verify(diary.positions[-1]) != [], "harm was done, and it says that nothing is wrong")


RULES: tuple[Callable[[Make], None], ...] = (
    a_new_sink_is_empty,
    every_entry_moves_the_position,
    only_a_success_applies_a_payload,
    an_empty_run_changes_nothing,
    a_run_is_one_act,
    how_entries_are_cut_into_runs_does_not_matter,
    a_run_that_does_not_follow_is_refused,
    it_holds_what_it_held_and_nothing_else,
    rolled_back_it_is_what_it_was,
    it_outlives_its_process,
    synced_and_opened_again_it_goes_on,
    only_one_can_be_open,
    harm_is_found,
)
