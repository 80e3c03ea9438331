"""How the plan is cut, and how the next window's size is chosen."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.options import WindowOptions
from inorder.core.windows.plan import PlanItem
from inorder.core.windows.window import SealedWindow, SizingSnapshot, WindowCutter, choose_target
from tests.core.driver import Driver, options


def cut(items: list[PlanItem], **limits: Any) -> list[SealedWindow]:
    """The windows of a whole plan."""
    planner = WindowCutter(options(**limits))
    planner.carry.extend(items)
    records: list[SealedWindow] = []
    while planner.carry:
        window = planner.open(records[-1].end + 1 if records else 0, 0)
        planner.fill(window)
        records.append(planner.seal(window))
    return records


def bounds(records: list[SealedWindow]) -> list[tuple[int, int]]:
    return [(record.start, record.end) for record in records]


def costing(*costs: float) -> list[PlanItem]:
    return [PlanItem(cost=cost) for cost in costs]


def sized(*sizes: int) -> list[PlanItem]:
    return [PlanItem(size_bytes=size) for size in sizes]


@pytest.mark.req("WIN-1", "WIN-3")
def test_a_window_record_says_everything_about_its_window() -> None:
    first, second = cut([PlanItem(cost=1.5, size_bytes=10), PlanItem(cost=2.0), PlanItem(size_bytes=7)], entries=2)
    assert first == SealedWindow(
        id=0,
        start=0,
        end=1,
        predicted_cost=3.5,
        predicted_bytes=10,
        entries=2,
        oversize=False,
        seed_hash=first.seed_hash,
    )
    assert (second.id, second.start, second.end, second.entries, second.predicted_bytes) == (1, 2, 2, 1, 7)
    assert len(first.seed_hash) == 32
    assert first.seed_hash != second.seed_hash


@pytest.mark.req("WIN-2")
@pytest.mark.parametrize(
    ("limits", "items", "expected"),
    [
        ({"entries": 3}, costing(*[1] * 7), [(0, 2), (3, 5), (6, 6)]),
        ({"entries": 9, "span_max": 2}, costing(*[1] * 5), [(0, 1), (2, 3), (4, 4)]),
        ({"entries": 9, "cost_max": 5.0}, costing(2, 3, 1, 4, 1), [(0, 1), (2, 3), (4, 4)]),
        ({"entries": 9, "bytes_max": 10}, sized(9, 1, 0, 1, 9, 2), [(0, 2), (3, 4), (5, 5)]),
    ],
    ids=["entries", "span", "cost", "bytes"],
)
def test_each_cap_splits(limits: dict[str, Any], items: list[PlanItem], expected: list[tuple[int, int]]) -> None:
    records = cut(items, **limits)
    assert bounds(records) == expected
    assert not any(record.oversize for record in records)


@pytest.mark.req("WIN-2")
@pytest.mark.parametrize(
    ("limits", "items"),
    [({"cost_max": 5.0}, costing(1, 6, 1, 1)), ({"bytes_max": 10}, sized(1, 11, 5, 5))],
    ids=["cost", "bytes"],
)
def test_an_item_above_a_cap_stands_alone_as_oversize(limits: dict[str, Any], items: list[PlanItem]) -> None:
    records = cut(items, entries=9, **limits)
    assert bounds(records) == [(0, 0), (1, 1), (2, 3)]
    assert [record.oversize for record in records] == [False, True, False]


@pytest.mark.req("WIN-2")
def test_an_item_exactly_at_a_cap_is_not_oversize() -> None:
    [record] = cut([PlanItem(cost=5.0, size_bytes=10)], cost_max=5.0, bytes_max=10)
    assert not record.oversize


def test_what_an_item_reads_counts_where_the_size_of_its_result_is_unknown() -> None:
    items = [PlanItem(input_bytes=6), PlanItem(size_bytes=1, input_bytes=6), PlanItem(input_bytes=6)]
    assert [(record.entries, record.predicted_bytes) for record in cut(items, bytes_max=10)] == [(2, 7), (1, 6)]


def test_nothing_is_reserved_for_what_an_item_reads() -> None:
    driver = Driver(options(buffered_bytes_soft=10, buffered_bytes_hard=10))
    driver.plan([PlanItem(input_bytes=100)] * 3, ended=True)
    assert [driver.pull(worker) for worker in (1, 2, 3)] == [[0], [1], [2]]


@pytest.mark.req("WIN-3")
def test_the_seed_hash_changes_with_the_plan_and_with_the_options() -> None:
    plan = [PlanItem("a"), PlanItem("b")]
    hashes = {
        cut(plan)[0].seed_hash,
        cut(plan, entries=5)[0].seed_hash,
        cut(plan, cost_max=9.0)[0].seed_hash,
        cut(plan, bytes_max=99)[0].seed_hash,
        cut([PlanItem("a"), PlanItem("c")])[0].seed_hash,
        cut([PlanItem("a"), PlanItem("b", cost=2.0)])[0].seed_hash,
        cut([PlanItem("a"), PlanItem("b", size_bytes=1)])[0].seed_hash,
        cut([PlanItem("a"), PlanItem("b", batch_key="k")])[0].seed_hash,
        cut([PlanItem("b"), PlanItem("a")])[0].seed_hash,
    }
    assert len(hashes) == 9


@pytest.mark.req("WIN-3")
def test_the_seed_hash_covers_everything_before_the_window_too() -> None:
    first = cut([PlanItem("a"), PlanItem("same")], entries=1, entries_min=1)
    second = cut([PlanItem("b"), PlanItem("same")], entries=1, entries_min=1)
    assert first[1].seed_hash != second[1].seed_hash


@pytest.mark.req("WIN-3")
def test_ids_that_are_no_valid_text_count_in_the_seed_hash_however_the_plan_comes() -> None:
    def sealed(pieces: list[list[PlanItem]]) -> str:
        planner = WindowCutter(options(entries=9))
        window = planner.open(0, 0)
        for piece in pieces:
            planner.carry.extend(piece)
            planner.fill(window)
        return planner.seal(window).seed_hash

    plan = [PlanItem("a"), PlanItem("b-\udce9"), PlanItem("c")]
    assert sealed([plan]) == sealed([plan[:1], plan[1:]]) == sealed([[item] for item in plan])
    assert sealed([plan]) != sealed([[PlanItem("a"), PlanItem("b-\udce8"), PlanItem("c")]])


@pytest.mark.slow
@pytest.mark.req("WIN-1")
@given(
    st.lists(st.builds(PlanItem, cost=st.floats(0, 9), size_bytes=st.integers(0, 9)), max_size=30),
    st.integers(1, 6),
    st.integers(1, 6),
    st.floats(1, 9),
    st.integers(1, 9),
)
def test_windows_are_contiguous_cover_every_seq_once_and_keep_their_caps(
    items: list[PlanItem], entries: int, span: int, cost: float, size: int
) -> None:
    limits = {"entries": entries, "span_max": span, "cost_max": cost, "bytes_max": size}
    records = cut(items, **limits)
    covered = [seq for record in records for seq in range(record.start, record.end + 1)]
    assert covered == list(range(len(items)))
    assert cut(items, **limits) == records
    for record in records:
        inside = items[record.start : record.end + 1]
        assert record.entries == len(inside) <= min(entries, span)
        assert record.predicted_cost == pytest.approx(sum(item.cost for item in inside))
        assert record.predicted_bytes == sum(item.size_bytes for item in inside)
        above = record.predicted_cost > cost or record.predicted_bytes > size
        assert above == record.oversize
        assert not record.oversize or record.entries == 1


CALM = {"target_entries": 1000, "commit_lag": 0, "used_bytes": 0, "retries": 0, "entries": 100, "starved_steps": 0}
LIMITS = WindowOptions(entries=1000, entries_min=64, entries_max=4000)


def snapshot(**signs: int) -> SizingSnapshot:
    return SizingSnapshot(**(CALM | {"bytes_soft": 1000, "resident_bytes_soft": 2000} | signs))


@pytest.mark.req("WIN-6", "DEC-5")
@pytest.mark.parametrize(
    ("signs", "target", "why"),
    [
        ({}, 1000, "keep"),
        ({"used_bytes": 1000, "resident_bytes": 2000, "retries": 24, "commit_lag": 1024}, 1000, "keep"),
        ({"used_bytes": 1001}, 500, "shrink: buffered bytes"),
        ({"resident_bytes": 2001}, 500, "shrink: resident memory"),
        ({"retries": 25}, 500, "shrink: a quarter"),
        ({"commit_lag": 1025}, 500, "shrink: the commit lag"),
        ({"target_entries": 100, "commit_lag": 99}, 100, "keep"),
        ({"target_entries": 100, "used_bytes": 1001}, 64, "shrink: buffered bytes"),
        ({"starved_steps": 9, "used_bytes": 1001}, 500, "shrink: buffered bytes"),
        ({"starved_steps": 9, "resident_bytes": 2001}, 500, "shrink: resident memory"),
    ],
)
def test_trouble_halves_the_next_window(signs: dict[str, int], target: int, why: str) -> None:
    chosen, reason = choose_target(LIMITS, snapshot(**signs))
    assert chosen == target
    assert reason.startswith(why)


@pytest.mark.req("WIN-6", "DEC-5")
@pytest.mark.parametrize(
    ("signs", "target"),
    [
        ({}, 2000),
        ({"target_entries": 3000}, 4000),
        ({"target_entries": 64, "elapsed_ms": 500, "starved_ms": 499}, 4000),
        ({"target_entries": 64, "elapsed_ms": 500, "starved_ms": 400}, 320),
        ({"target_entries": 64, "elapsed_ms": 500, "starved_ms": 401}, 384),
        ({"target_entries": 64, "elapsed_ms": 500, "starved_ms": 10}, 128),
        ({"commit_lag": 4000}, 2000),
        ({"retries": 100}, 2000),
    ],
)
def test_idle_workers_enlarge_it_to_what_they_could_have_computed_whatever_the_lag_and_the_retries(
    signs: dict[str, int], target: int
) -> None:
    assert choose_target(LIMITS, snapshot(starved_steps=9, **signs)) == (target, "grow: workers were idle")


@pytest.mark.req("WIN-6")
@pytest.mark.parametrize(
    "signs", [{"used_bytes": 1001}, {"resident_bytes": 2001}, {"retries": 25}, {"commit_lag": 1025}]
)
def test_nothing_shrinks_it_to_a_size_with_which_workers_were_idle(signs: dict[str, int]) -> None:
    assert choose_target(LIMITS, snapshot(starved_entries=249, **signs))[0] == 500
    assert choose_target(LIMITS, snapshot(starved_entries=250, **signs))[0] == 1000


@pytest.mark.slow
@pytest.mark.req("WIN-6", "DEC-6")
@given(
    st.builds(
        SizingSnapshot,
        target_entries=st.integers(64, 4000),
        commit_lag=st.integers(0, 3000),
        used_bytes=st.integers(0, 2000),
        bytes_soft=st.just(1000),
        retries=st.integers(0, 100),
        entries=st.integers(1, 150),
        starved_steps=st.integers(0, 3),
        starved_entries=st.integers(0, 4000),
        starved_ms=st.integers(0, 90),
        elapsed_ms=st.integers(0, 90),
    )
)
def test_the_same_snapshot_gives_the_same_size_within_the_bounds(seen: SizingSnapshot) -> None:
    chosen, reason = choose_target(LIMITS, seen)
    assert 64 <= chosen <= 4000
    assert (chosen, reason) == choose_target(LIMITS, seen)
    assert reason.startswith("shrink") or chosen >= seen.target_entries
    assert reason.startswith("grow") or chosen <= seen.target_entries
