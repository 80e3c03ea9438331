"""The numbers of a StageOutcome."""

import math

import msgspec
import pytest

import inorder
from tests.stage.jobs import Place
from tests.stage.workers import nothing


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-8")
def test_the_times_of_an_outcome_are_those_of_the_rows(place: Place, policy: str) -> None:
    outcome = place.run(place.items(40), policy=policy)
    times = sorted(row["duration_s"] * 1000 for row in place.rows().values())
    for found, share in ((outcome.exec_p50_ms, 0.5), (outcome.exec_p95_ms, 0.95)):
        exact = times[math.ceil(share * len(times)) - 1]
        assert found == pytest.approx(exact, rel=0.03, abs=0.003)
    assert 0 < outcome.exec_p50_ms <= outcome.exec_p95_ms <= outcome.wall_ms
    assert outcome.items_per_s == pytest.approx(40 / outcome.wall_ms * 1000, rel=0.01)
    assert outcome.queue_p50_ms > 0


@pytest.mark.req("RUN-8")
def test_items_that_were_skipped_do_not_count_as_quick(place: Place) -> None:
    place.run(place.items(20))
    outcome = place.run(place.items(20))
    assert (outcome.skipped, outcome.exec_p50_ms, outcome.exec_p95_ms) == (20, 0.0, 0.0)


@pytest.mark.req("RUN-8", "DEC-8")
def test_the_counts_add_up_to_what_was_scheduled(place: Place) -> None:
    deeds = ["shout", "skip", "fail", "shout", "fail", "shout", "shout"]
    items = [place.item(f"item-{number}", do) for number, do in enumerate(deeds)]
    outcome = place.run(items, error_budget=1)
    counts = (outcome.succeeded, outcome.skipped, outcome.failed, outcome.cancelled)
    assert counts == (2, 1, 2, 2)
    assert sum(counts) == outcome.scheduled == 7
    assert outcome.was_cancelled
    assert outcome.cancel_reason == "error budget of 1 exceeded at seq 4"


@pytest.mark.req("RUN-8")
def test_errors_are_summed_up_by_kind(place: Place) -> None:
    items = [place.item(f"item-{number}", "fail" if number % 2 else "unreachable") for number in range(9)]
    outcome = place.run(items)
    assert [(error.category, error.count, error.item_id) for error in outcome.errors] == [
        ("provider", 5, "item-0"),
        ("runtime", 4, "item-1"),
    ]


def test_an_outcome_can_be_written_and_read(place: Place) -> None:
    outcome = place.run([place.item("a", "fail")])
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=inorder.StageOutcome) == outcome


def test_every_run_has_a_name_of_its_own(place: Place) -> None:
    names = {place.run([inorder.WorkItem(item_id="a")], nothing).run_id for _ in range(3)}
    assert len(names) == 3


def test_a_run_that_began_anew_was_not_resumed(place: Place) -> None:
    outcome = place.run(place.items(2))
    assert (outcome.resumed_at, outcome.stop_kind, outcome.stop_signal, outcome.cancel_reason) == (None,) * 4
    assert outcome.warnings == []
