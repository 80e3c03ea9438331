"""The plan's way into windows: lazily asked for, reproducibly cut, resized at boundaries."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import Dispatch, NeedItems, WindowClosed, WindowOpened, WindowSealed
from inorder.core.events import MemorySampled, Planned, Tick
from inorder.core.kernel import Kernel
from inorder.core.options import KernelOptions, WindowOptions
from inorder.core.windows.plan import PlanItem
from inorder.core.windows.window import SealedWindow, SizingSnapshot, choose_target
from inorder.errors import InvariantViolation
from tests.core.driver import Driver, Story, options

choice_lists = st.lists(st.integers(0, 1000), min_size=1, max_size=40)
plans = st.lists(
    st.builds(
        PlanItem, cost=st.integers(0, 4).map(float), size_bytes=st.integers(0, 4), batch_key=st.sampled_from("ab")
    ),
    max_size=24,
)


def records(driver: Driver) -> list[SealedWindow]:
    return [sealed.record for sealed in driver.told(WindowSealed)]


@pytest.mark.req("WIN-7")
def test_the_kernel_asks_for_items_before_anybody_wants_them_and_once_at_a_time() -> None:
    driver = Driver(options(entries=100, plan_ahead=8))
    assert driver.told(NeedItems) == [NeedItems(8)]
    driver.tick()
    driver.pull()
    assert driver.told(NeedItems) == [NeedItems(8)]


@pytest.mark.req("WIN-7")
def test_more_is_asked_for_when_fewer_than_half_of_what_is_wanted_ahead_wait() -> None:
    driver = Driver(options(entries=100, plan_ahead=8))
    driver.plan(8)
    for worker in range(4):
        driver.pull(worker)
    assert driver.told(NeedItems) == [NeedItems(8)]
    driver.pull(4)
    assert driver.told(NeedItems) == [NeedItems(8), NeedItems(5)]


@pytest.mark.req("WIN-7")
def test_while_a_worker_idles_for_want_of_items_the_plan_is_asked_for_more() -> None:
    driver = Driver(options(entries=100, plan_ahead=1))
    driver.pull(1)
    driver.pull(2)
    driver.plan(1)
    assert driver.waiting == {2}
    assert driver.asked_count > 0


@pytest.mark.req("WIN-7")
def test_nothing_is_asked_for_that_the_active_windows_cannot_take() -> None:
    driver = Driver(options(entries=2, plan_ahead=3))
    driver.plan(3)
    for worker in (1, 2):
        driver.pull(worker)
    assert driver.asked_count == 2
    driver.plan(2)
    assert len(driver.kernel._state.cutter.carry) == 1
    for worker in (3, 4, 5):
        driver.pull(worker)
    assert driver.asked_count == 0
    driver.finish(0, 1)
    driver.ack()
    driver.ack()
    assert driver.asked_count > 0


@pytest.mark.req("WIN-7")
def test_by_demand_the_plan_is_asked_for_twice_what_the_workers_want() -> None:
    driver = Driver(options(entries=100, plan_ahead=100, plan_by_demand=True))
    assert driver.asked_count == 1
    driver.plan(1)
    driver.pull(1, 4)
    assert driver.asked_count == 2 * 4
    driver.plan(8)
    for worker in (2, 3):
        driver.pull(worker, 3)
    assert driver.asked_count == 2 * (4 + 3 + 3) - 6


@pytest.mark.req("WIN-7")
def test_a_worker_that_is_gone_wants_nothing() -> None:
    driver = Driver(options(entries=100, plan_ahead=100, plan_by_demand=True))
    driver.pull(1, 4)
    driver.pull(2, 3)
    driver.lose(1)
    driver.plan(0)
    assert driver.asked_count == 2 * 3


@pytest.mark.req("WIN-7")
def test_an_endless_plan_is_read_no_further_than_the_windows_and_what_is_wanted_ahead() -> None:
    def endless() -> Iterator[PlanItem]:
        while True:
            items_read[0] += 1
            yield PlanItem(str(items_read[0]))

    items_read = [0]
    plan = endless()
    driver = Driver(options(entries=4, plan_ahead=6))
    for worker in range(300):
        if driver.asked_count:
            driver.plan([next(plan) for _ in range(driver.asked_count)])
        driver.pull(worker)
        for seq in list(driver.holdings.get(worker, ())):
            driver.finish(seq)
        while driver.run is not None:
            driver.ack()
        state = driver.kernel._state
        assert items_read[0] <= state.ledger.next_commit_seq + 2 * 4 + 6
        assert len(state.cutter.carry) < 6
        assert state.ledger.size_bytes <= len(state.ledger) + 12 * 8
    assert driver.kernel.statistics().windows_closed > 50


@pytest.mark.slow
@pytest.mark.req("WIN-7", "LED-9")
@given(choices=choice_lists, workers=st.sampled_from([1, 2, 7]), entries=st.integers(1, 6))
def test_the_heavier_columns_span_the_active_windows_only(choices: list[int], workers: int, entries: int) -> None:
    driver = Driver(options(entries=entries, plan_ahead=5), total=20)
    spans = []
    inner = driver.kernel.step

    def step(now_ms: int, event: object) -> list[object]:
        commands = inner(now_ms, event)
        ledger = driver.kernel._state.ledger
        spans.append((ledger.size_bytes - len(ledger)) // 12)
        return commands

    driver.kernel.step = step
    Story(driver, ["s"] * 20, choices, workers=workers).to_its_end()
    assert max(spans) <= 2 * entries


def test_items_nobody_asked_for_are_an_invariant_broken() -> None:
    driver = Driver()
    driver.plan(1, ended=True)
    with pytest.raises(InvariantViolation, match="items were planned without a request"):
        driver.step(Planned([PlanItem()]))


@pytest.mark.req("WIN-1")
def test_a_window_is_dispatched_from_while_it_fills() -> None:
    driver = Driver(options(entries=10))
    driver.plan(1)
    assert driver.pull() == [0]
    assert driver.told(WindowOpened) == [WindowOpened(0, 0, 10, None)]
    assert driver.told(WindowSealed) == []


@pytest.mark.req("WIN-1")
def test_the_end_of_the_plan_seals_the_last_window() -> None:
    driver = Driver(options(entries=10))
    driver.plan(3)
    assert driver.told(WindowSealed) == []
    driver.plan(0, ended=True)
    assert [record.entries for record in records(driver)] == [3]


@pytest.mark.req("LED-10")
def test_seqs_follow_the_plan_whatever_its_pieces() -> None:
    driver = Driver(options(entries=3, plan_ahead=4))
    workers = iter(range(4))
    for count in (1, 2, 1):
        driver.plan(count)
        for _ in range(count):
            driver.pull(next(workers))
    assert [seq for command in driver.told(Dispatch) for seq in command.seqs] == [0, 1, 2, 3]


@pytest.mark.slow
@pytest.mark.req("WIN-4", "DEC-5")
@given(plan=plans, choices=choice_lists, workers=st.sampled_from([1, 2, 7]), schedule=st.sampled_from(["fifo", "sjf"]))
def test_never_more_than_two_windows_are_active_and_nothing_outside_them_is_dispatched(
    plan: list[PlanItem], choices: list[int], workers: int, schedule: str
) -> None:
    driver = Driver(options(entries=3, cost_max=6.0, schedule=schedule), total=len(plan))
    Story(driver, ["s"] * len(plan), choices, workers=workers).plays(plan).to_its_end()
    bounds = {record.id: (record.start, record.end) for record in records(driver)}
    active: list[int] = []
    for command in driver.commands:
        match command:
            case WindowOpened(id=number):
                active.append(number)
                assert len(active) <= 2
                assert active == list(range(active[0], active[0] + len(active)))
            case WindowClosed(id=number):
                assert active.pop(0) == number
            case Dispatch(seqs=seqs):
                inside = [start <= seq <= end for seq in seqs for start, end in (bounds[number] for number in active)]
                assert inside.count(True) == len(seqs)
    assert active == []


@pytest.mark.slow
@pytest.mark.req("WIN-1", "WIN-3")
@given(plan=plans, choices=choice_lists, other=choice_lists, entries=st.integers(1, 6), budget=st.integers(2, 9))
def test_the_same_plan_gives_the_same_windows_whatever_its_pieces_and_the_order_of_completion(
    plan: list[PlanItem], choices: list[int], other: list[int], entries: int, budget: int
) -> None:
    settings = options(entries=entries, cost_max=float(budget), bytes_max=budget + 1, plan_ahead=7)
    cuts = []
    for workers, chosen in ((1, choices), (7, other)):
        driver = Driver(settings, total=len(plan))
        Story(driver, ["s"] * len(plan), chosen, workers=workers).plays(plan).to_its_end()
        cuts.append(records(driver))
    assert cuts[0] == cuts[1]
    assert [seq for record in cuts[0] for seq in range(record.start, record.end + 1)] == list(range(len(plan)))


def finish_window(driver: Driver, worker: int = 1) -> None:
    """Whoever holds an item finishes it, one worker does the others, until a window closes."""
    closed = len(driver.told(WindowClosed))
    for _ in range(100):
        held = [seq for seqs in driver.holdings.values() for seq in seqs]
        if len(driver.told(WindowClosed)) > closed:
            return
        if driver.run is not None:
            driver.ack()
        elif held:
            driver.finish(held[0])
        else:
            driver.pull(worker)
    raise AssertionError("no window closes")


@pytest.mark.req("WIN-6", "DEC-6")
def test_an_adaptive_window_grows_when_workers_idle_and_says_on_what_grounds() -> None:
    driver = Driver(options(entries=2, entries_max=100, adaptive=True))
    driver.plan(20)
    for worker in range(5):
        driver.pull(worker)
    driver.finish(0, 1)
    driver.ack()
    driver.ack()
    [first, second, third] = driver.told(WindowOpened)
    assert (first.sizing, first.target_entries) == (second.sizing, second.target_entries) == (None, 2)
    assert third.target_entries == 4
    starved_steps = third.sizing.starved_steps
    assert starved_steps == driver.kernel.statistics().starved_steps > 0
    assert third.sizing == SizingSnapshot(
        target_entries=2,
        commit_lag=0,
        used_bytes=2,
        bytes_soft=192 * 2**20,
        retries=0,
        entries=2,
        starved_steps=starved_steps,
        resident_bytes_soft=2**60,
    )


@pytest.mark.req("WIN-6")
def test_an_adaptive_window_shrinks_when_a_quarter_of_the_last_one_was_retried() -> None:
    driver = Driver(options(entries=4, adaptive=True, retries_max=1))
    driver.plan(20)
    driver.pull()
    driver.fail(0, retryable=True)
    finish_window(driver)
    assert driver.told(WindowOpened)[-1].target_entries == 2
    assert driver.told(WindowOpened)[-1].sizing.retries == 1


@pytest.mark.req("WIN-6")
def test_a_straggler_behind_which_workers_idle_for_long_enlarges_the_next_window_by_as_much() -> None:
    driver = Driver(options(entries=2, entries_max=1000, adaptive=True))
    driver.plan(50)
    for worker in (1, 2, 3, 4):
        driver.pull(worker)
    driver.now_ms = 10
    driver.finish(1, 2, 3)
    driver.pull(2)
    driver.now_ms = 100
    driver.finish(0)
    driver.ack()
    driver.ack()
    [third, *_] = driver.told(WindowOpened)[2:]
    assert (third.sizing.starved_ms, third.sizing.elapsed_ms) == (90, 100)
    assert third.target_entries == 20


@pytest.mark.req("WIN-6")
def test_workers_that_idle_although_the_plan_was_read_to_its_end_enlarge_the_next_window() -> None:
    driver = Driver.of(20, entries=2, entries_max=100, adaptive=True, plan_ahead=100)
    for worker in range(5):
        driver.pull(worker)
    finish_window(driver)
    assert driver.told(WindowOpened)[-1].target_entries == 4


@pytest.mark.req("WIN-6")
def test_a_window_that_was_above_the_soft_mark_shrinks_the_next_one_although_it_ended_below() -> None:
    driver = Driver(options(entries=4, adaptive=True, buffered_bytes_soft=20, buffered_bytes_hard=2**30))
    driver.plan(30)
    driver.finish(*driver.pull(1))
    for worker in (1, 2):
        driver.pull(worker)
    driver.finish(2, size=30)
    driver.finish(1, size=30)
    driver.ack()
    driver.ack()
    finish_window(driver)
    [third, *_] = driver.told(WindowOpened)[2:]
    assert third.sizing.used_bytes > 60
    assert third.target_entries == 2


@pytest.mark.req("WIN-6")
def test_a_window_shrinks_when_resident_memory_is_above_its_soft_mark() -> None:
    driver = Driver(options(entries=4, adaptive=True, resident_bytes_soft=100, resident_bytes_hard=1000))
    driver.plan(30)
    driver.step(MemorySampled(101))
    finish_window(driver)
    assert driver.told(WindowOpened)[-1].target_entries == 2


@pytest.mark.req("WIN-6")
def test_a_size_with_which_workers_were_idle_is_remembered_in_every_later_snapshot() -> None:
    driver = Driver(options(entries=2, entries_max=100, adaptive=True, retries_max=1))
    driver.plan(60)
    for worker in range(5):
        driver.pull(worker)
    for _ in range(3):
        finish_window(driver)
    first, *rest = (window.sizing for window in driver.told(WindowOpened)[2:])
    assert (first.starved_entries, first.target_entries) == (0, 2)
    assert rest
    assert min(sizing.starved_entries for sizing in rest) >= 2


@pytest.mark.req("WIN-6")
def test_the_size_of_a_window_that_is_open_does_not_change_and_idleness_is_counted_once() -> None:
    driver = Driver(options(entries=2, entries_max=8, adaptive=True))
    driver.plan(30)
    for worker in (1, 2, 3, 4, 5):
        driver.pull(worker)
    for _ in range(3):
        finish_window(driver)
    opened = driver.told(WindowOpened)
    assert {record.id: record.entries for record in records(driver)} == {
        window.id: window.target_entries for window in opened
    }
    assert [window.target_entries for window in opened[:3]] == [2, 2, 4]
    counted = [window.sizing.starved_steps for window in opened[2:]]
    assert sum(counted) == driver.kernel.statistics().starved_steps


@pytest.mark.req("WIN-6")
def test_without_adaptation_every_window_has_the_size_of_the_options() -> None:
    driver = Driver(options(entries=2, retries_max=1))
    driver.plan(8)
    driver.pull()
    driver.fail(0, retryable=True)
    finish_window(driver)
    assert {(window.target_entries, window.sizing) for window in driver.told(WindowOpened)} == {(2, None)}


@pytest.mark.slow
@pytest.mark.req("WIN-6", "DEC-6")
@given(
    choices=choice_lists, workers=st.sampled_from([1, 2, 7]), words=st.lists(st.sampled_from(["s", "rs"]), max_size=30)
)
def test_every_adaptive_size_follows_from_its_recorded_snapshot_alone(
    choices: list[int], workers: int, words: list[str]
) -> None:
    settings: KernelOptions = options(entries=3, entries_max=8, span_max=6, adaptive=True, retries_max=1, plan_ahead=5)
    driver = Story(Driver(settings, total=len(words)), words, choices, workers=workers).to_its_end()
    sealed = {record.id: record for record in records(driver)}
    for window in driver.told(WindowOpened):
        target = 3 if window.sizing is None else choose_target(settings.windows, window.sizing)[0]
        assert window.target_entries == min(target, 6)
        assert sealed[window.id].entries <= window.target_entries


@pytest.mark.req("WIN-7")
def test_a_plan_that_answers_with_more_than_was_asked_for_is_refused() -> None:
    kernel = Kernel(KernelOptions(windows=WindowOptions(plan_ahead=2)))
    kernel.step(0, Tick())
    with pytest.raises(InvariantViolation, match="2 items were requested, 3 were planned"):
        kernel.step(0, Planned([PlanItem()] * 3))
