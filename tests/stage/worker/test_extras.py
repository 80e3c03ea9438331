"""What a worker returns goes into the manifest, after the fields that all stages have."""

import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.stage.manifest.rows import BASE_FIELDS
from tests.stage.jobs import Place


class Counted(msgspec.Struct):
    """What a worker may return, too."""

    pages: int
    engine: str


def extras_of(place: Place, value: Any) -> dict[str, Any]:
    """What of this value stands in the manifest."""
    place.run([place.item("a", outputs={})], lambda item: value)
    return {name: found for name, found in place.row("a").items() if name not in BASE_FIELDS}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, {}),
        ({}, {}),
        ({"pages": 3, "engine": "fast"}, {"pages": 3, "engine": "fast"}),
        (Counted(3, "fast"), {"pages": 3, "engine": "fast"}),
        ({1: "one"}, {"1": "one"}),
        ({"when": datetime.date(2026, 1, 2)}, {"when": "2026-01-02"}),
        ({"kinds": {"b", "a", "c"}}, {"kinds": ["a", "b", "c"]}),
        ({"share": float("nan")}, {"share": None}),
    ],
    ids=["none", "empty", "plain", "struct", "number as a name", "date", "set", "not a number"],
)
@pytest.mark.req("RUN-7")
def test_extras_stand_in_the_row(place: Place, value: Any, written: dict[str, Any]) -> None:
    assert extras_of(place, value) == written


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"path": Path("x")}, "the return value of the worker cannot be encoded as JSON"),
        ({"file": object()}, "the return value of the worker cannot be encoded as JSON"),
        ({"name": "\udcff"}, "the return value of the worker cannot be encoded as JSON"),
        (["a", "list"], "a worker must return a dict of extras or None, got list"),
        ("text", "a worker must return a dict of extras or None, got str"),
    ],
    ids=["path", "object", "no text", "list", "text"],
)
def test_extras_that_cannot_be_written_fail_their_item_alone(place: Place, value: Any, complaint: str) -> None:
    def worker(item: inorder.WorkItem) -> Any:
        return value if item.item_id == "b" else {"fine": True}

    place.run([place.item(name, outputs={}) for name in "abc"], worker)
    assert place.statuses() == {"a": "success", "b": "failure", "c": "success"}
    assert complaint in place.row("b")["error"]["message"]


@pytest.mark.req("RUN-7")
def test_extras_named_like_a_base_field_stand_beside_it(place: Place) -> None:
    found = extras_of(place, {"status": "fine", "extra_status": "finer", "doc_id": 7})
    assert found == {"extra_doc_id": 7, "extra_status": "finer", "extra_extra_status": "fine"}
    assert place.row("a")["status"] == "success"


@pytest.mark.req("RUN-7", "RUN-4")
def test_a_satisfied_item_has_the_extras_of_the_run_that_made_it(place: Place) -> None:
    def worker(item: inorder.WorkItem, ctx: Any) -> dict[str, Any]:
        ctx.output("loud").write_text("x")
        return {"zebra": 1, "ant": {"b": 2, "a": [1, 2]}}

    place.run([place.item("a")], worker)
    made = place.row("a")
    place.run([place.item("a")], worker)
    skipped = place.row("a")
    assert skipped["status"] == "skip"
    assert list(skipped) == list(made)
    volatile = {"status", "duration_s", "reason"}
    assert {k: v for k, v in skipped.items() if k not in volatile} == {
        k: v for k, v in made.items() if k not in volatile
    }
