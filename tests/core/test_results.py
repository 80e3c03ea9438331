"""What comes back from workers: taken once, refused when stale, fatal when impossible."""

import gc
import weakref

import pytest

from inorder.core.commands import Dispatch, Reclaimed, ResultRefused, RetryScheduled, StopWorker
from inorder.core.events import Envelope, Finished, Loss, Overran, Tick
from inorder.core.transitions import State
from inorder.errors import Category, InvariantViolation
from tests.core.driver import FAIL, SUCCESS, Driver, flaw


def answer(seq: int, attempt: int = 1, payload: object = None) -> Envelope:
    return Envelope(seq, attempt, SUCCESS, payload)


def pulling(count: int, *workers: int, **limits: object) -> Driver:
    driver = Driver.of(count, **limits)
    for worker in workers:
        driver.pull(worker)
    return driver


@pytest.mark.req("LED-4", "INV-1")
def test_a_second_answer_in_the_same_event_is_fatal() -> None:
    driver = pulling(2, 1)
    with pytest.raises(InvariantViolation, match="second terminal event for seq 0 from worker 1, attempt 1"):
        driver.deliver(1, answer(0), answer(0))


@pytest.mark.req("LED-4", "INV-1")
def test_a_second_answer_while_the_first_waits_in_the_reorder_buffer_is_fatal() -> None:
    driver = pulling(2, 1, 2)
    driver.finish(1)
    with pytest.raises(InvariantViolation, match="second terminal event for seq 1 from worker 2"):
        driver.deliver(2, answer(1))


@pytest.mark.req("LED-4", "INV-1")
def test_a_second_answer_after_the_commit_is_fatal_while_the_window_is_open() -> None:
    driver = pulling(3, 1)
    driver.finish(0)
    driver.ack()
    with pytest.raises(InvariantViolation, match="second terminal event for seq 0"):
        driver.deliver(1, answer(0))


@pytest.mark.req("LED-4")
def test_a_second_failure_while_the_first_waits_for_its_verdict_is_fatal() -> None:
    driver = pulling(3, 1, 2, retries_max=1, window_retries_max=1)
    driver.fail(1, retryable=True)
    with pytest.raises(InvariantViolation, match="second terminal event for seq 1"):
        driver.deliver(2, Envelope(1, 1, FAIL, failure=flaw(retryable=True)))


@pytest.mark.req("LED-4", "LED-6")
def test_a_stale_answer_is_refused_and_counted_and_never_applied() -> None:
    driver = pulling(1, 1)
    driver.lose(1, Loss.INFRASTRUCTURE)
    assert driver.pull(2) == [0]
    assert driver.deliver(1, answer(0, 1, "stale")) == [ResultRefused(1, 0, 1)]
    driver.deliver(2, answer(0, 2, "good"))
    assert [envelope.payload for envelope in driver.committed] == ["good"]
    driver.ack()
    assert (driver.kernel.statistics().refused, driver.kernel.summary.succeeded) == (1, 1)


@pytest.mark.req("LED-4", "LED-6")
def test_a_stale_answer_is_refused_before_the_item_is_leased_again() -> None:
    driver = pulling(1, 1)
    driver.lose(1, Loss.INFRASTRUCTURE)
    assert driver.deliver(1, answer(0)) == [ResultRefused(1, 0, 1)]
    assert driver.kernel.snapshot().oldest_blocked_state == "DISPATCHED"


@pytest.mark.req("LED-4", "LED-6")
def test_a_worker_that_holds_the_item_again_cannot_answer_for_its_earlier_attempt() -> None:
    driver = pulling(1, 1, retries_max=1)
    driver.fail(0, retryable=True)
    assert driver.pull(1) == [0]
    assert driver.deliver(1, answer(0, 1)) == [ResultRefused(1, 0, 1)]
    assert driver.kernel.snapshot().in_flight_count == 1
    driver.deliver(1, answer(0, 2))
    driver.ack()
    assert driver.kernel.summary.succeeded == 1


@pytest.mark.req("LED-4")
def test_an_answer_for_an_item_that_somebody_else_holds_is_refused() -> None:
    driver = pulling(2, 1, 2)
    assert driver.deliver(2, answer(0)) == [ResultRefused(2, 0, 1)]
    assert driver.deliver(3, answer(0)) == [ResultRefused(3, 0, 1)]


@pytest.mark.req("LED-4")
def test_an_answer_for_a_window_long_closed_is_refused() -> None:
    driver = pulling(3, 1, entries=1)
    driver.finish(0)
    driver.ack()
    assert driver.deliver(1, answer(0)) == [ResultRefused(1, 0, 1)]


@pytest.mark.req("LED-6", "INV-1")
@pytest.mark.parametrize("attempt", [0, 2, -1])
def test_an_answer_for_an_attempt_never_leased_is_fatal(attempt: int) -> None:
    driver = pulling(1, 1)
    with pytest.raises(InvariantViolation, match=f"attempt {attempt} of seq 0, never leased"):
        driver.deliver(1, answer(0, attempt))


@pytest.mark.req("INV-1")
@pytest.mark.parametrize("seq", [-1, 1, 99])
def test_an_answer_for_a_seq_never_planned_is_fatal(seq: int) -> None:
    driver = pulling(1, 1)
    with pytest.raises(InvariantViolation, match=f"seq {seq}, which was never planned"):
        driver.deliver(1, answer(seq))


@pytest.mark.parametrize("outcome", [*sorted(set(State) - {3, 4, 5}), 8])
def test_an_envelope_with_an_outcome_that_no_worker_can_claim_is_fatal(outcome: int) -> None:
    driver = pulling(1, 1)
    with pytest.raises(InvariantViolation, match=f"seq 0 has outcome {outcome:d}"):
        driver.deliver(1, Envelope(0, 1, outcome))


def test_an_envelope_of_negative_size_is_fatal() -> None:
    driver = pulling(1, 1)
    with pytest.raises(InvariantViolation, match="has outcome 3 and -1 bytes"):
        driver.deliver(1, Envelope(0, 1, SUCCESS, payload_bytes=-1))


def test_a_failure_without_a_reason_is_fatal() -> None:
    driver = pulling(1, 1)
    with pytest.raises(InvariantViolation, match="seq 0 is a failure without a reason") as caught:
        driver.deliver(1, Envelope(0, 1, FAIL))
    assert caught.value.snapshot.waiting_for == "an event"


@pytest.mark.req("CMP-2")
def test_every_finished_attempt_gives_one_envelope_and_a_batch_may_come_in_parts() -> None:
    driver = pulling(5, 1, entries=8)
    driver.finish(0)
    assert driver.pull(1, 4) == [1, 2, 3, 4]
    driver.deliver(1, answer(2), answer(1))
    driver.deliver(1)
    driver.deliver(1, answer(4), answer(3))
    driver.ack()
    driver.ack()
    assert [envelope.seq for envelope in driver.committed] == [0, 1, 2, 3, 4]
    assert driver.kernel.statistics().envelopes == 5


class Payload:
    """Something that can be seen to go."""


def kept(reference: weakref.ref[Payload]) -> bool:
    gc.collect()
    return reference() is not None


@pytest.mark.slow
@pytest.mark.req("CMP-2")
def test_a_payload_is_not_kept_once_it_is_handed_to_the_commit_lane() -> None:
    driver = pulling(2, 1)
    payload = Payload()
    reference = weakref.ref(payload)
    driver.kernel.step(0, Finished(1, [answer(0, 1, payload)]))
    del payload
    assert not kept(reference)


@pytest.mark.slow
@pytest.mark.req("CMP-2")
def test_a_payload_is_kept_while_it_waits_for_lower_seqs_and_goes_when_the_run_is_cut_before_it() -> None:
    driver = pulling(2, 1, 2, error_budget=0)
    payload = Payload()
    reference = weakref.ref(payload)
    driver.kernel.step(0, Finished(2, [answer(1, 1, payload)]))
    del payload
    assert kept(reference)
    driver.fail(0)
    driver.ack()
    assert not kept(reference)


@pytest.mark.slow
@pytest.mark.req("CMP-2")
def test_a_payload_is_not_kept_once_the_run_is_given_up() -> None:
    driver = pulling(2, 1, 2)
    payload = Payload()
    reference = weakref.ref(payload)
    driver.kernel.step(0, Finished(2, [answer(1, 1, payload)]))
    del payload
    assert kept(reference)
    driver.kernel.release()
    assert not kept(reference)


def test_a_run_that_was_given_up_does_not_go_on() -> None:
    driver = pulling(2, 1, 2)
    driver.finish(0)
    driver.finish(1)
    driver.kernel.release()
    with pytest.raises(InvariantViolation):
        driver.ack()


@pytest.mark.slow
@pytest.mark.req("CMP-2")
def test_a_refused_payload_is_not_kept() -> None:
    driver = pulling(1, 1)
    payload = Payload()
    reference = weakref.ref(payload)
    driver.kernel.step(0, Finished(9, [answer(0, 1, payload)]))
    del payload
    assert not kept(reference)


def test_the_size_to_expect_rises_at_once_and_falls_slowly() -> None:
    driver = Driver.of(100, entries=100)
    shares = []
    for size in (0, 160, 0, 0, 320):
        driver.pull()
        shares.append(driver.told(Dispatch)[-1].share_bytes)
        driver.finish(next(iter(driver.holdings[1])), size=size)
    driver.pull()
    assert [*shares, driver.told(Dispatch)[-1].share_bytes] == [1, 1, 160, 150, 141, 320]


def test_failures_and_skips_teach_nothing_about_sizes() -> None:
    driver = pulling(3, 1)
    driver.answer(0, FAIL, size=500, failure=flaw())
    driver.pull()
    assert driver.told(Dispatch)[-1].share_bytes == 1


def test_an_item_that_runs_past_its_limit_fails_for_good_and_its_worker_goes() -> None:
    driver = pulling(1, 1, retries_max=3, infrastructure_budget=0)
    commands = driver.step(Overran(1, 0, 1, limit_ms=50))
    assert commands[0] == StopWorker(1, "seq 0 exceeded its time limit of 50 ms")
    [envelope] = driver.run.envelopes
    assert (envelope.outcome, envelope.failure.category) == (FAIL, Category.TIMEOUT)
    assert driver.told(RetryScheduled) == []
    assert driver.deliver(1, answer(0)) == [ResultRefused(1, 0, 1)]
    driver.ack()
    assert driver.kernel.summary.failed == 1
    assert driver.kernel.statistics().overruns == 1


def test_what_was_queued_behind_an_item_that_ran_too_long_goes_back_unharmed() -> None:
    driver = pulling(4, 1, infrastructure_budget=0)
    driver.finish(0)
    assert driver.pull(1, 3) == [1, 2, 3]
    driver.finish(1)
    driver.step(Overran(1, 2, 1, limit_ms=50))
    assert [(back.seq, back.suspected) for back in driver.told(Reclaimed)] == [(3, False)]
    assert driver.pull(2) == [3]
    assert not driver.told(Dispatch)[-1].isolated
    driver.drain()
    assert (driver.kernel.summary.succeeded, driver.kernel.summary.failed) == (3, 1)


@pytest.mark.parametrize(
    "stale",
    [Overran(9, 0, 1, 50), Overran(1, 1, 1, 50), Overran(1, 0, 0, 50)],
    ids=["another worker", "another item", "another attempt"],
)
def test_an_overrun_that_comes_too_late_changes_nothing(stale: Overran) -> None:
    driver = pulling(2, 1, 2)
    assert driver.step(stale) == []
    driver.finish(0, 1)
    assert driver.kernel.statistics().overruns == 0


@pytest.mark.req("DEC-2")
def test_a_failure_that_will_be_retried_is_an_attempt_record_and_no_terminal_event() -> None:
    driver = pulling(1, 1, retries_max=1)
    [record] = driver.fail(0, retryable=True)
    assert record == RetryScheduled(0, 1, 0, flaw(retryable=True), 1)
    assert driver.kernel.snapshot().terminal_count == 0
    assert driver.committed == []


def test_giving_up_a_run_that_has_ended_changes_nothing() -> None:
    driver = Driver(total=0)
    driver.plan([], ended=True)
    summary = driver.kernel.summary
    assert summary is not None
    driver.kernel.release()
    assert driver.kernel.step(0, Tick()) == []
    assert driver.kernel.summary is summary
