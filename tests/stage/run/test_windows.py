"""The windows of a stage: what its items weigh, and how they are cut by it."""

import re
from typing import Any

import pytest

import inorder
from tests.stage.jobs import Place, Row

pytestmark = pytest.mark.req("REA-1")


def sealed(place: Place, outcome: inorder.StageOutcome) -> list[Row]:
    """The windows of a run."""
    return [line["record"] for line in place.telemetry(outcome) if line["event"] == "window_sealed"]


def sized(place: Place, *sizes: int) -> list[inorder.WorkItem]:
    """Items whose inputs have these sizes."""
    for number, size in enumerate(sizes):
        place.source(f"item-{number}", "x" * size)
    return [place.item(f"item-{number}") for number in range(len(sizes))]


@pytest.mark.req("WIN-2", "WIN-3")
def test_an_item_weighs_what_its_inputs_are_large(place: Place) -> None:
    items = sized(place, 40, 50, 200, 30, 30, 30)
    windows = sealed(place, place.run(items, windows=inorder.Windows(bytes_max=100)))
    assert [(window["entries"], window["predicted_bytes"], window["oversize"]) for window in windows] == [
        (2, 90, False),
        (1, 200, True),
        (3, 90, False),
    ]
    [whole] = sealed(place, place.run(items, force=True))
    assert whole["predicted_bytes"] == 380


@pytest.mark.req("WIN-3")
def test_a_hint_of_its_size_counts_instead_of_its_inputs(place: Place) -> None:
    place.source("known", "x" * 1000)
    place.source("gone", "x")
    items = [place.item("known", size_hint=7), place.item("gone")]
    (place.sources / "gone").unlink()
    [window] = sealed(place, place.run(items))
    assert window["predicted_bytes"] == 7


@pytest.mark.parametrize("hint", [-1, 1.5, "12"])
def test_a_hint_that_is_no_size_is_refused_with_its_item(place: Place, hint: Any) -> None:
    with pytest.raises(inorder.OperatorError, match=r"item 'a': size_hint must be a number of bytes, got "):
        place.item("a", size_hint=hint)


@pytest.mark.req("BPR-1", "BPR-4")
def test_a_pause_names_the_option_that_caused_it(place: Place) -> None:
    outcome = place.run(place.items(3), budgets=inorder.Budgets(resident_bytes_hard=1))
    assert outcome.succeeded == 3
    [paused, *_] = [line for line in place.telemetry(outcome) if line["event"] == "pressure_changed"]
    assert paused["state"] == "hard"
    assert re.fullmatch(r"resident memory [0-9]{7,} above budgets\.resident_bytes_hard 1", paused["reason"])


@pytest.mark.req("RUN-10")
def test_the_telemetry_has_the_resident_memory_of_the_run(place: Place) -> None:
    outcome = place.run(place.items(1))
    [snapshot] = [line for line in place.telemetry(outcome) if line["event"] == "snapshot"]
    assert snapshot["resident_bytes"] > 2**20


@pytest.mark.req("CMP-3")
def test_items_of_one_key_are_started_together(place: Place) -> None:
    started: list[str] = []
    items = [place.item(f"{number}-{key}", outputs={}, batch_key=key) for number, key in enumerate("abcabcabc")]
    outcome = place.run(items, lambda item: started.append(item.batch_key), workers=1)
    assert outcome.succeeded == 9
    assert "".join(started) == "aaabbbccc"
    assert list(place.rows()) == [item.item_id for item in items]
