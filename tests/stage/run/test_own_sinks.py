"""A stage that brings a sink of its own, and says itself whether an item is done."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.sinks import MemorySink
from inorder.sinks.base import Entry
from inorder.sinks.sqlite import SqliteSink
from tests.stage.jobs import STAGE, Place

SCHEMA = "CREATE TABLE IF NOT EXISTS texts (name TEXT PRIMARY KEY, text TEXT)"


def deliver(item: inorder.WorkItem, ctx: object) -> dict[str, int]:
    """What the worker found goes to the sink, and not into a file."""
    if item.item_id == "bad":
        raise ValueError("this one is bad")
    text = Path(item.inputs["text"]).read_text(encoding="utf-8")
    ctx.deliver(text.upper())  # type: ignore[attr-defined]
    return {"letters": len(text)}


def write(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    rows = [(entry.item.item_id, entry.payload) for entry in entries]
    connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)


def run(
    place: Place,
    names: list[str],
    *,
    finish: Callable[[], None] | None = None,
    **options: object,
) -> inorder.StageOutcome:
    place.data.mkdir(exist_ok=True)
    plan = inorder.StagePlan(STAGE, [place.item(name, outputs={}) for name in names])
    sink = SqliteSink(str(place.data / "texts.sqlite"), SCHEMA, write)
    return inorder.run_stage(plan, deliver, place.options(**options), sinks=[sink], finish=finish)


def texts(place: Place) -> dict[str, str]:
    connection = sqlite3.connect(place.data / "texts.sqlite")
    found = dict(connection.execute("SELECT name, text FROM texts").fetchall())
    connection.close()
    return found


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_what_workers_deliver_reaches_the_sink(place: Place, policy: str) -> None:
    outcome = run(place, ["a", "bad", "b"], policy=policy)
    assert (outcome.succeeded, outcome.failed) == (2, 1)
    assert texts(place) == {"a": "TEXT OF A\n", "b": "TEXT OF B\n"}
    assert list(place.rows()) == ["a", "bad", "b"]


def test_the_end_is_called_when_the_sinks_are_closed_and_the_lock_is_held(place: Place) -> None:
    seen = []

    def finish() -> None:
        seen.append(texts(place))
        with pytest.raises(inorder.BusyError):
            place.run([place.item("x")])

    run(place, ["a"], finish=finish)
    assert seen == [{"a": "TEXT OF A\n"}]


def test_a_run_that_was_stopped_is_not_finished(place: Place) -> None:
    def finish() -> None:
        raise AssertionError("it was stopped")

    outcome = run(place, ["bad", "a"], finish=finish, error_budget=0)
    assert outcome.stop_kind == "error budget"


@pytest.mark.req("API-3")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MemorySink("a"), "sinks must be a list of sinks, got MemorySink"),
        (lambda: [MemorySink("a"), MemorySink("a")], "every sink needs a name of its own, got outputs, manifest, a, a"),
        (lambda: [MemorySink("manifest")], "every sink needs a name of its own, got outputs, manifest, manifest"),
    ],
)
def test_sinks_that_cannot_be_told_apart_are_refused(place: Place, make: Callable[[], Any], message: str) -> None:
    with pytest.raises(inorder.OperatorError, match=f"^{message}$"):
        inorder.run_stage(place.plan([]), deliver, place.options(), sinks=make())


@pytest.mark.process
@pytest.mark.req("API-3")
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_an_entry_has_the_item_and_what_was_delivered_and_nothing_of_the_runner(place: Place, policy: Any) -> None:
    sink = MemorySink()
    items = [place.item(name) for name in ("plain", "skipped", "bad", "half")]
    inorder.run_stage(place.plan(items), deliver_as_named, place.options(policy=policy), sinks=[sink])
    assert [entry.item for entry in sink.entries] == items
    assert [entry.payload for entry in sink.entries] == [{"name": "plain"}, None, None, ["half"]]
    assert [entry.applies for entry in sink.entries] == [True, False, False, True]
    assert [entry.failure is not None for entry in sink.entries] == [False, False, True, True]


def deliver_as_named(item: inorder.WorkItem, ctx: inorder.StageContext) -> inorder.Skip | None:
    if item.item_id == "half":
        ctx.hand_over(["half"])
    if item.item_id in ("bad", "half"):
        raise ValueError("this one is bad")
    ctx.output("loud").write_text("loud")
    ctx.deliver({"name": item.item_id})
    return inorder.Skip("not wanted", {"pages": 3}) if item.item_id == "skipped" else None
