"""Items that hang, and items that take their process down: they cost themselves, and nobody else."""

import pytest

from tests.stage.jobs import Place
from tests.stage.workers import obey
from tests.support.gates import no_thread_leaks

pytestmark = pytest.mark.process


@pytest.mark.req("RTY-4")
def test_a_process_that_hangs_is_killed_and_its_item_fails(place: Place) -> None:
    items = [place.item("a"), place.item("b", "hang"), place.item("c")]
    with no_thread_leaks():
        outcome = place.run(items, policy="cpu", timeout_s=4.0, retries=3)
    assert (outcome.succeeded, outcome.failed, outcome.was_cancelled) == (2, 1, False)
    row = place.row("b")
    assert (row["error"]["category"], row["error"]["retryable"], row["attempts"]) == ("timeout", False, 1)
    assert place.called().count("b") == 1
    assert place.staged() == []


@pytest.mark.req("RTY-4")
def test_a_thread_that_hangs_is_left_behind_and_the_stage_ends(place: Place) -> None:
    """The thread is a daemon; it ends with this process."""
    items = [place.item("a"), place.item("b", "hang"), place.item("c"), place.item("d", "hang")]
    outcome = place.run(items, policy="io", timeout_s=4.0, retries=3, workers=1)
    assert (outcome.succeeded, outcome.failed) == (2, 2)
    assert [row["error"] and row["error"]["category"] for row in place.rows().values()] == [
        None,
        "timeout",
        None,
        "timeout",
    ]
    assert place.called() == ["a", "b", "c", "d"]


@pytest.mark.req("RTY-3")
def test_an_item_that_kills_its_process_is_tried_alone_and_then_fails_with_the_signal_named(place: Place) -> None:
    items = [*place.items(20)[:10], place.item("killer", "kill"), *place.items(20)[10:]]
    outcome = place.run(items, policy="cpu", retries=3)
    assert (outcome.succeeded, outcome.failed) == (20, 1)
    row = place.row("killer")
    assert row["error"]["category"] == "runtime"
    assert "SIGKILL" in row["error"]["message"]
    assert place.called().count("killer") == 2
    assert len(place.published()) == 40
    assert place.staged() == []


def test_time_limits_do_not_touch_items_that_keep_them(place: Place) -> None:
    assert place.run(place.items(50), obey, timeout_s=100).succeeded == 50
