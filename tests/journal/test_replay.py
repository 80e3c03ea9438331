"""From records to the state of a run: what they add up to, and which ones cannot be true together."""

import pytest

from inorder.core.resume_point import ResumePoint, ResumeWindow
from inorder.core.windows.window import SizingSnapshot
from inorder.errors import Category
from inorder.journal.records import (
    Attempt,
    Checkpoint,
    Commit,
    Detail,
    Header,
    Mark,
    Record,
    Terminal,
    WindowRecord,
    decode_sizing,
    encode_sizing,
)
from inorder.journal.replay import FAIL, SKIP, SUCCESS, Candidate, CorruptRecord, OutcomeCounts, Replay

HEADER = Header("a run", "a plan", "a configuration", ["rows", "files"])
FIRST = Checkpoint(end=0, durable=0, marks=[(0, 0, 0), (0, 0, 0)])
BEGUN = (HEADER, FIRST)


def marks(end: int) -> list[Mark]:
    return [(end, 10 * end, 7), (end, end, 8)]


def commit(end: int) -> Commit:
    return Commit(end, 0, marks(end), b"digest %d" % end)


def told(*records: Record) -> Replay:
    """The state that these tell of; record n lies at byte 10 n."""
    state = Replay()
    for number, record in enumerate(records):
        state.apply(record, 10 * number, 10 * number + 10)
    return state


def known(state: Replay) -> tuple[object, ...]:
    """All of it, but for where records lie that were told again."""
    candidates = [(each.end, each.marks, each.digest, state.build_resume_point(each)) for each in state.candidates]
    return candidates, state.terminals, state.windows, state.granted, state.terminal_end, state.is_end


def corruption(*records: Record) -> str:
    """What is said of the last of these, which contradicts those before it."""
    with pytest.raises(CorruptRecord) as caught:
        told(*records)
    assert caught.value.offset == 10 * (len(records) - 1)
    assert str(caught.value).startswith(f"corrupt at byte {caught.value.offset}: ")
    return str(caught.value).partition(": ")[2]


STORY: tuple[Record, ...] = (
    *BEGUN,
    WindowRecord(0, 0, 4),
    WindowRecord(1, 4, 4),
    Attempt(1, 1),
    Terminal(0, bytes([SUCCESS, FAIL]), {1: Detail(2, Category.IO, "it broke")}),
    commit(2),
    Attempt(5, 1),
    Terminal(2, bytes([SKIP, SUCCESS, SUCCESS]), {1: Detail(1), 2: Detail(0, None, "", (("a", 1, 2),))}),
    commit(5),
    WindowRecord(2, 8, 4),
    Terminal(5, bytes([SUCCESS, SKIP]), {0: Detail(1)}),
)


@pytest.mark.req("JRN-3")
def test_a_story_adds_up_to_its_outcomes_its_retries_and_its_windows() -> None:
    state = told(*STORY)
    assert state.newest_candidate == Candidate(5, 100, {"rows": (5, 50, 7), "files": (5, 5, 8)}, b"digest 5")
    assert state.terminal_end == 7
    assert state.build_resume_point(state.newest_candidate) == ResumePoint(
        end=5,
        succeeded=3,
        skipped=1,
        failed=1,
        retries=3,
        retries_granted={5: 1},
        windows=(ResumeWindow(1, 4, 4), ResumeWindow(2, 8, 4)),
    )


@pytest.mark.req("JRN-3")
def test_it_can_be_gone_on_from_every_commit_since_the_checkpoint_and_from_the_checkpoint() -> None:
    state = told(*STORY)
    assert [(each.end, each.offset) for each in state.candidates] == [(0, 20), (2, 70), (5, 100)]
    assert [state.count_outcomes(each.end) for each in state.candidates] == [
        OutcomeCounts(),
        OutcomeCounts(succeeded=1, failed=1, retries=2),
        OutcomeCounts(succeeded=3, skipped=1, failed=1, retries=3),
    ]


@pytest.mark.req("JRN-3")
def test_from_an_older_place_the_retries_that_were_spent_after_it_stay_spent() -> None:
    state = told(*STORY)
    resume_point = state.build_resume_point(state.candidates[1])
    assert resume_point.retries_granted == {1: 2, 3: 1, 5: 1}
    assert [window.id for window in resume_point.windows] == [0, 1, 2]


@pytest.mark.req("JRN-3")
def test_a_commit_may_fall_within_a_run_of_outcomes() -> None:
    outcomes = bytes([SUCCESS, FAIL, SKIP, FAIL])
    state = told(*BEGUN, Terminal(0, outcomes, {1: Detail(1), 3: Detail(2)}), commit(1), commit(3))
    assert state.count_outcomes(1) == OutcomeCounts(succeeded=1)
    assert state.count_outcomes(3) == OutcomeCounts(succeeded=1, skipped=1, failed=1, retries=1)
    assert state.count_outcomes(4) == OutcomeCounts(succeeded=1, skipped=1, failed=2, retries=3)


@pytest.mark.req("JRN-3")
def test_with_no_sink_to_ask_only_the_newest_commit_is_kept() -> None:
    header = Header("", "", "")
    state = told(header, Checkpoint(end=0, durable=0), Terminal(0, bytes([SUCCESS] * 3)), Commit(1, 0), Commit(3, 0))
    assert [(each.end, each.offset, each.marks) for each in state.candidates] == [(0, 20, {}), (3, 50, {})]


@pytest.mark.req("JRN-3")
def test_a_window_whose_end_the_commits_have_passed_is_not_open_any_more() -> None:
    windows = [WindowRecord(0, 0, 2), WindowRecord(1, 2, 2), WindowRecord(2, 4, 2)]
    state = told(*BEGUN, *windows, Terminal(0, bytes([SUCCESS] * 5)), *map(commit, (1, 2, 3, 4, 5)))
    ids = [[window.id for window in state.build_resume_point(each).windows] for each in state.candidates]
    assert ids == [[0, 1, 2], [0, 1, 2], [1, 2], [1, 2], [2], [2]]


@pytest.mark.req("JRN-3", "WIN-6")
def test_the_snapshot_behind_the_size_of_a_window_comes_back_as_it_was() -> None:
    sizing = SizingSnapshot(
        target_entries=1,
        commit_lag=2,
        used_bytes=3,
        bytes_soft=4,
        retries=5,
        entries=6,
        starved_steps=7,
        resident_bytes=8,
        resident_bytes_soft=9,
        starved_entries=10,
        starved_ms=11,
        elapsed_ms=12,
    )
    assert encode_sizing(sizing) == tuple(range(1, 13))
    assert decode_sizing(encode_sizing(sizing)) == sizing
    assert encode_sizing(None) is None
    assert decode_sizing(None) is None
    state = told(*BEGUN, WindowRecord(0, 0, 9, encode_sizing(sizing)))
    assert state.build_resume_point(state.newest_candidate).windows == (ResumeWindow(0, 0, 9, sizing),)


@pytest.mark.req("JRN-3", "WIN-6")
def test_a_snapshot_with_fewer_fields_or_more_is_one_of_another_version() -> None:
    earlier = decode_sizing((1, 2, 3, 4, 5, 6, 7))
    assert earlier is not None
    assert (earlier.target_entries, earlier.starved_steps, earlier.starved_entries, earlier.elapsed_ms) == (1, 7, 0, 0)
    assert decode_sizing((*range(1, 13), 99)) == decode_sizing(tuple(range(1, 13)))


@pytest.mark.req("JRN-6")
def test_a_checkpoint_says_everything_anew_and_what_is_not_told_after_it_is_void() -> None:
    window = WindowRecord(1, 4, 4)
    checkpoint = Checkpoint(
        end=5, durable=0, marks=marks(5), digest=b"d", succeeded=3, skipped=1, failed=1, retries=3, windows=(window,)
    )
    state = told(*STORY, checkpoint)
    assert state.candidates == [Candidate(5, 130, dict(zip(HEADER.sinks, marks(5), strict=True)), b"d")]
    assert (state.terminal_end, state.terminals, state.granted, state.windows) == (5, [], {}, [window])
    assert state.count_outcomes(5) == OutcomeCounts(3, 1, 1, 3)


@pytest.mark.req("JRN-6")
def test_outcomes_that_stand_are_told_again_after_the_checkpoint_and_count_once() -> None:
    checkpoint = Checkpoint(end=5, durable=0, marks=marks(5), succeeded=3, skipped=1, failed=1, retries=3)
    state = told(*STORY, checkpoint, Terminal(5, bytes([SUCCESS, SKIP]), {0: Detail(1)}), commit(7))
    assert state.count_outcomes(7) == OutcomeCounts(succeeded=4, skipped=2, failed=1, retries=4)


@pytest.mark.req("JRN-6")
def test_a_compacted_journal_begins_with_a_checkpoint_anywhere() -> None:
    state = told(HEADER, Checkpoint(end=90, durable=0, marks=marks(90), succeeded=90), Terminal(90, bytes([FAIL])))
    assert (state.newest_candidate.end, state.terminal_end, state.count_outcomes(90)) == (
        90,
        91,
        OutcomeCounts(succeeded=90),
    )


@pytest.mark.parametrize("is_end", [True, False])
def test_the_end_of_a_run_is_known(is_end: bool) -> None:
    assert told(*BEGUN, Checkpoint(end=0, durable=0, marks=marks(0), is_end=is_end)).is_end is is_end


# ---- saying it again


@pytest.mark.req("JRN-4")
@pytest.mark.parametrize("count", range(1, len(STORY) + 1))
def test_telling_any_record_a_second_time_changes_nothing(count: int) -> None:
    once, twice = told(*STORY[:count]), told(*STORY[:count], STORY[count - 1])
    assert known(twice) == known(once)


@pytest.mark.req("JRN-4")
def test_telling_everything_since_the_checkpoint_a_second_time_changes_nothing() -> None:
    assert known(told(*STORY, *STORY[2:])) == known(told(*STORY))


@pytest.mark.req("JRN-4")
def test_windows_that_were_closed_before_the_checkpoint_do_not_come_back() -> None:
    checkpoint = Checkpoint(end=5, durable=0, marks=marks(5), windows=(WindowRecord(1, 4, 4), WindowRecord(2, 8, 4)))
    once = told(*STORY, checkpoint)
    assert known(
        told(*STORY, checkpoint, WindowRecord(0, 0, 4), WindowRecord(1, 4, 4), WindowRecord(2, 8, 4))
    ) == known(once)


@pytest.mark.req("JRN-4")
def test_a_part_of_the_outcomes_may_be_told_again() -> None:
    assert known(told(*STORY, Terminal(1, bytes([FAIL]), {0: Detail(2, Category.IO, "it broke")}))) == known(
        told(*STORY)
    )


@pytest.mark.req("JRN-4")
def test_an_attempt_that_is_told_late_gives_no_retry_back() -> None:
    assert told(*BEGUN, Attempt(3, 2), Attempt(3, 1)).granted == {3: 2}


# ---- contradictions


@pytest.mark.req("JRN-4")
@pytest.mark.parametrize(
    "again",
    [
        Terminal(0, bytes([SUCCESS, SUCCESS])),
        Terminal(1, bytes([SKIP]), {0: Detail(2, Category.IO, "it broke")}),
        Terminal(1, bytes([FAIL]), {0: Detail(1, Category.IO, "it broke")}),
        Terminal(1, bytes([FAIL])),
        Terminal(4, bytes([SUCCESS]), {0: Detail(0, None, "", (("b", 1, 2),))}),
        Terminal(2, bytes([SKIP, FAIL]), {1: Detail(1)}),
    ],
)
def test_a_second_and_different_outcome_for_a_seq_is_corruption(again: Terminal) -> None:
    assert "a second, different outcome for a seq from " in corruption(*STORY, again)


@pytest.mark.req("JRN-4")
def test_outcomes_that_reach_back_over_others_are_corruption_even_if_they_agree() -> None:
    again = Terminal(6, bytes([SKIP, SUCCESS]))
    assert corruption(*STORY, again) == "outcomes from seq 6 on overlap those before them"


@pytest.mark.req("JRN-4")
def test_a_hole_in_the_outcomes_is_corruption() -> None:
    assert corruption(*STORY, Terminal(9, bytes([SUCCESS]))) == "seqs 7 to 8 have no outcome"


@pytest.mark.req("JRN-4")
@pytest.mark.parametrize("outcome", [0, 1, 2, 6, 7, 8, 255])
def test_an_outcome_that_does_not_exist_is_corruption(outcome: int) -> None:
    message = corruption(*BEGUN, Terminal(0, bytes([SUCCESS, outcome])))
    assert message == "seqs 0 to 1 have unknown outcomes"


@pytest.mark.req("JRN-4")
def test_a_commit_beyond_the_outcomes_is_corruption() -> None:
    assert corruption(*STORY, commit(8)) == "seq 7 is committed but has no outcome"


@pytest.mark.req("JRN-4")
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_positions_is_corruption(count: int) -> None:
    wrong = [(6, 0, 0)] * count
    assert corruption(*STORY, Commit(6, 0, wrong)) == f"{count} positions for 2 sinks"
    assert corruption(*STORY, Checkpoint(end=5, durable=0, marks=wrong)) == f"{count} positions for 2 sinks"


@pytest.mark.req("JRN-4")
def test_positions_where_there_are_no_sinks_are_corruption() -> None:
    begun = (Header("", "", ""), Checkpoint(end=0, durable=0))
    assert corruption(*begun, Terminal(0, bytes([SKIP])), Commit(1, 0, marks(1))) == "2 positions for 0 sinks"


@pytest.mark.req("JRN-4")
@pytest.mark.parametrize("end", [2, 4, 6, 7, 8])
def test_a_checkpoint_that_is_not_at_the_latest_commit_is_corruption(end: int) -> None:
    message = corruption(*STORY, Checkpoint(end=end, durable=0, marks=marks(end)))
    assert message == f"a checkpoint at seq {end}, but 5 seqs are committed"


@pytest.mark.req("JRN-4")
def test_a_window_that_is_left_out_is_corruption() -> None:
    assert corruption(*STORY, WindowRecord(4, 16, 4)) == "window 4 is opened, expected window 3"
    assert corruption(*BEGUN, WindowRecord(1, 4, 4)) == "window 1 is opened, expected window 0"


@pytest.mark.req("JRN-4")
def test_a_second_header_may_only_say_the_same() -> None:
    assert known(told(*STORY, HEADER)) == known(told(*STORY))
    other = Header("another run", "a plan", "a configuration", ["rows", "files"])
    assert corruption(*STORY, other) == "a second header that differs from the first"
