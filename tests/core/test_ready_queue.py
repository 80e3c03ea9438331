"""Which item of a window goes out next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.ready_queue import ReadyQueue


def ready(schedule: str = "fifo", *, costs: str = "", keys: str = "") -> ReadyQueue:
    """One item a character: its cost, its key ('-': none), or both."""
    waiting = ReadyQueue(schedule)
    for seq in range(max(len(costs), len(keys))):
        key = keys[seq] if keys else "-"
        waiting.add_fresh([seq], [float(costs[seq]) if costs else 1.0], "" if key == "-" else key)
    return waiting


def all_taken(waiting: ReadyQueue, limit: int = 1, key: str = "") -> list[int]:
    taken = []
    while batch := waiting.take(limit, key):
        taken += batch
    return taken


@pytest.mark.req("CMP-4")
def test_fifo_goes_by_seq_whatever_the_cost() -> None:
    assert all_taken(ready("fifo", costs="3142")) == [0, 1, 2, 3]


@pytest.mark.req("CMP-4")
def test_sjf_goes_by_cost_and_equal_ones_by_seq() -> None:
    assert all_taken(ready("sjf", costs="31213")) == [1, 3, 2, 0, 4]


@pytest.mark.req("CMP-4")
def test_sjf_batches_are_the_cheapest_together() -> None:
    waiting = ready("sjf", costs="4321")
    assert [waiting.take(3, ""), waiting.take(3, "")] == [[3, 2, 1], [0]]


@pytest.mark.req("CMP-3")
def test_a_batch_has_one_key() -> None:
    waiting = ready(keys="ababa")
    assert [waiting.take(9, ""), waiting.take(9, "")] == [[0, 2, 4], [1, 3]]
    assert len(waiting) == 0


@pytest.mark.req("CMP-3")
def test_a_worker_keeps_to_its_key_while_the_group_lasts() -> None:
    waiting = ready(keys="abab")
    assert [waiting.take(1, "b") for _ in range(3)] == [[1], [3], [0]]


@pytest.mark.req("CMP-3")
def test_a_key_that_nobody_has_is_no_obstacle() -> None:
    assert ready(keys="ab").take(2, "z") == [0]


@pytest.mark.req("CMP-3")
def test_without_a_key_the_group_with_the_fewest_workers_is_next_and_the_oldest_of_those() -> None:
    assert ready(keys="abc").take(1, "", ["a"]) == [1]
    assert ready(keys="abc").take(1, "", ["a", "b"]) == [2]
    assert ready(keys="abc").take(1, "", ["c", "b", "a", "a"]) == [1]
    assert ready(keys="abc").take(1, "", ["", "z"]) == [0]
    assert ready(keys="abc").take(1, "a", ["a", "a"]) == [0]


def test_items_seen_before_come_first_by_seq_and_one_by_one() -> None:
    waiting = ready(costs="1111")
    assert waiting.take(3, "") == [0, 1, 2]
    waiting.requeue(2)
    waiting.requeue(0)
    assert [waiting.take(3, "") for _ in range(3)] == [[0], [2], [3]]


def test_suspects_are_taken_alone_by_seq_and_never_in_a_batch() -> None:
    waiting = ready(costs="111")
    waiting.take(3, "")
    waiting.add_suspect(2)
    waiting.add_suspect(1)
    assert (len(waiting), waiting.is_suspect(1), waiting.is_suspect(0)) == (2, True, False)
    assert waiting.take(3, "") == []
    assert [waiting.take_suspect(), waiting.take_suspect(), waiting.take_suspect()] == [1, 2, None]
    assert len(waiting) == 0


@pytest.mark.req("BPR-3")
def test_an_item_taken_out_of_turn_is_not_given_again() -> None:
    waiting = ready(costs="111")
    waiting.take_seq(1)
    assert 1 not in waiting
    assert all_taken(waiting) == [0, 2]


def test_a_suspect_taken_out_of_turn_is_not_given_again() -> None:
    waiting = ReadyQueue("fifo")
    waiting.add_suspect(4)
    waiting.take_seq(4)
    assert waiting.take_suspect() is None


def test_a_returned_item_taken_out_of_turn_is_not_given_again() -> None:
    waiting = ready(costs="11")
    waiting.take(1, "")
    waiting.requeue(0)
    waiting.take_seq(0)
    assert all_taken(waiting) == [1]


@pytest.mark.req("CMP-3")
def test_a_group_that_was_emptied_out_of_turn_gives_way_to_the_next() -> None:
    waiting = ready(keys="ab")
    waiting.take_seq(0)
    assert waiting.take(1, "a") == [1]


@pytest.mark.req("CMP-1")
def test_the_oldest_goes_first_whatever_the_schedule_and_the_key() -> None:
    waiting = ready("sjf", costs="9812", keys="abab")
    assert waiting.take(1, "a") == [2]
    assert [waiting.take_oldest() for _ in range(3)] == [[0], [1], [3]]


@pytest.mark.req("CMP-1")
def test_the_oldest_may_be_one_that_came_back() -> None:
    waiting = ready(costs="111")
    waiting.take(1, "")
    waiting.requeue(0)
    assert [waiting.take_oldest() for _ in range(3)] == [[0], [1], [2]]


@pytest.mark.req("CMP-1")
@pytest.mark.parametrize(
    ("waiting", "reordered"),
    [(ready("fifo", costs="12"), False), (ready("fifo", keys="ab"), True), (ready("sjf", costs="12"), True)],
)
def test_only_a_schedule_or_several_keys_can_leave_an_older_item_behind(waiting: ReadyQueue, reordered: bool) -> None:
    assert waiting.is_reordered is reordered


def test_the_key_of_an_item_is_kept() -> None:
    waiting = ready(keys="a-")
    assert [waiting.get_key(seq) for seq in (0, 1, 9)] == ["a", "", ""]


@pytest.mark.slow
@pytest.mark.req("CMP-1")
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("-ab")), min_size=1, max_size=12),
    st.lists(
        st.tuples(st.sampled_from(["turn", "oldest", "exactly", "again", "alone", "suspect"]), st.integers(0, 11))
    ),
)
def test_whatever_the_order_of_taking_every_waiting_item_is_given_exactly_once(
    items: list[tuple[int, str]], moves: list[tuple[str, int]]
) -> None:
    waiting = ready("sjf", costs="".join(str(cost) for cost, _ in items), keys="".join(key for _, key in items))
    plain, suspects, out = set(range(len(items))), set(), set()
    for move, number in moves:
        taken: list[int] = []
        if move == "turn":
            taken = waiting.take(1 + number % 3, "a")
            assert plain >= set(taken)
            assert bool(taken) == bool(plain)
        elif move == "oldest" and plain:
            taken = waiting.take_oldest()
            assert taken == [min(plain)]
        elif move == "exactly" and number in plain | suspects:
            waiting.take_seq(number)
            taken = [number]
        elif move == "suspect":
            suspect = waiting.take_suspect()
            assert suspect == min(suspects, default=None)
            taken = [] if suspect is None else [suspect]
        elif out and move in ("again", "alone"):
            seq = sorted(out)[number % len(out)]
            (waiting.requeue if move == "again" else waiting.add_suspect)(seq)
            (plain if move == "again" else suspects).add(seq)
            out.discard(seq)
        plain -= set(taken)
        suspects -= set(taken)
        out |= set(taken)
        assert len(waiting) == len(plain) + len(suspects)
        assert all((seq in waiting) == (seq not in out) for seq in range(len(items)))
