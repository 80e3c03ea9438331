"""What a program can bring along: its own rule for what is up to date, its own manifest, fields of hooks, places of
errors, and the policy that a stage is made for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.host.filesystem import SystemFilesystem
from inorder.sinks import Entry, ManifestSink, MemorySink
from inorder.stage.context import StageContext
from tests.stage.jobs import STAGE, Place, read_lines
from tests.stage.workers import obey, shout

pytestmark = pytest.mark.req("RUN-14")


# A user's own `satisfies`


class Versioned(inorder.WorkItem, frozen=True, kw_only=True):
    """Up to date if a file beside its source says so, whatever the outputs are."""

    def satisfies(self, data: str | Path = ".", *, fingerprinting: bool = True) -> bool:
        mark = Path(f"{self.inputs['text']}.done")
        if mark.exists() and mark.read_text() == "broken":
            raise LookupError("the mark is broken")
        return mark.exists()


class Plain(inorder.WorkItem, frozen=True, kw_only=True):
    """The same as the seed has it: without parameters."""

    def satisfies(self) -> bool:  # type: ignore[override]
        return bool(self.meta.get("done"))


class Careful(inorder.WorkItem, frozen=True, kw_only=True):
    """The usual rule, and one more condition."""

    def satisfies(self, data: str | Path = ".", *, fingerprinting: bool = True) -> bool:
        return super().satisfies(data, fingerprinting=fingerprinting) and not self.meta.get("again")


def items_of(place: Place, kind: type[inorder.WorkItem], names: str, **meta: Any) -> list[inorder.WorkItem]:
    found = []
    for name in names:
        known = place.item(name)
        fields = {"inputs": known.inputs, "outputs": known.outputs, "cfg_hash": "1", "meta": {**known.meta, **meta}}
        found.append(kind(item_id=name, **fields))
    return found


def test_an_item_that_overrides_satisfies_decides_itself(place: Place) -> None:
    place.source("b", "text of b")
    place.source("b.done", "")
    outcome = place.run(items_of(place, Versioned, "abc"))
    assert (outcome.succeeded, outcome.skipped) == (2, 1)
    assert place.row("b")["reason"] == "its method satisfies returned True"
    assert not (place.data / "loud" / "b.txt").exists()
    assert place.run(items_of(place, Versioned, "abc")).succeeded == 2, "unchanged outputs do not count"


def test_an_item_whose_satisfies_raises_is_processed(place: Place) -> None:
    place.source("a.done", "broken")
    assert place.run(items_of(place, Versioned, "a")).succeeded == 1


@pytest.mark.process
def test_satisfies_may_have_no_parameters_and_force_ignores_it(place: Place) -> None:
    assert place.run(items_of(place, Plain, "a", done=True), policy="cpu").skipped == 1
    assert place.run(items_of(place, Plain, "a"), policy="cpu").succeeded == 1
    assert place.run(items_of(place, Plain, "a", done=True), force=True).succeeded == 1


def test_an_override_can_add_to_the_usual_rule(place: Place) -> None:
    assert place.run(items_of(place, Careful, "ab")).succeeded == 2
    assert place.run(items_of(place, Careful, "ab")).skipped == 2
    assert place.row("a")["letters"] == 7
    assert place.run(items_of(place, Careful, "ab", again=True)).succeeded == 2


# The place of a StageError


def failing(**fields: Any) -> Callable[[inorder.WorkItem], None]:
    def work(item: inorder.WorkItem) -> None:
        raise inorder.StageError("no model", category="config", **fields)

    return work


@pytest.mark.parametrize(
    ("fields", "message", "place_of_error"),
    [
        ({}, "no model", (STAGE, "a")),
        ({"stage": STAGE, "item_id": "a"}, "no model", (STAGE, "a")),
        ({"item_id": "a#3"}, "a#3: no model", (STAGE, "a#3")),
        ({"stage": "chunk", "item_id": "b"}, "chunk: b: no model", ("chunk", "b")),
    ],
)
def test_the_place_of_a_stage_error_is_in_the_row_and_in_the_message(
    place: Place, fields: dict[str, str], message: str, place_of_error: tuple[str, str]
) -> None:
    outcome = place.run([place.item("a")], failing(**fields))
    error = place.row("a")["error"]
    assert (error["stage"], error["item_id"]) == place_of_error
    assert error["message"] == outcome.errors[0].message == message


def test_another_exception_has_no_place_of_its_own(place: Place) -> None:
    place.run([place.item("a", "fail")])
    assert place.row("a")["error"].keys() == {"category", "message", "retryable"}


# The policy that a stage is made for


@pytest.mark.req("RUN-3")
def test_a_plan_made_for_gpu_refuses_processes_unless_it_is_told_otherwise(place: Place) -> None:
    plan = inorder.StagePlan(STAGE, [place.item("a")], policy="gpu")
    with pytest.raises(inorder.OperatorError, match=r"stage shout needs policy gpu: .* i_know_what_im_doing=True"):
        inorder.run_stage(plan, shout, place.options(policy="cpu"))
    assert inorder.run_stage(plan, shout, place.options(policy="gpu")).succeeded == 1


@pytest.mark.process
@pytest.mark.req("RUN-3")
def test_whoever_knows_what_they_do_may_run_it_in_processes(place: Place) -> None:
    plan = inorder.StagePlan(STAGE, [place.item("a")], policy="gpu")
    options = place.options(policy="cpu", i_know_what_im_doing=True)
    assert inorder.run_stage(plan, shout, options).succeeded == 1


# A manifest of one's own


def test_a_manifest_sink_can_be_injected(place: Place) -> None:
    elsewhere = place.folder / "rows.jsonl"

    def make(row: Callable[[Entry], dict[str, Any]], head: dict[str, Any]) -> ManifestSink:
        return ManifestSink(SystemFilesystem(), str(elsewhere), row, head=[head], name="rows")

    plan = inorder.StagePlan(STAGE, [place.item("a"), place.item("b", "fail")])
    inorder.run_stage(plan, obey, place.options(), manifest=make)
    rows = read_lines(elsewhere)
    assert [(row["doc_id"], row["status"]) for row in rows[1:]] == [("a", "success"), ("b", "failure")]
    assert (rows[0]["doc_id"], rows[0]["stage"]) == ("__config__", STAGE)
    assert not (place.data / "manifests" / f"{STAGE}.jsonl").exists()


def test_an_injected_manifest_may_be_any_sink(place: Place) -> None:
    sinks: list[MemorySink] = []

    def make(row: Callable[[Entry], dict[str, Any]], head: dict[str, Any]) -> MemorySink:
        sinks.append(MemorySink())
        return sinks[-1]

    plan = inorder.StagePlan(STAGE, [place.item("a")])
    assert inorder.run_stage(plan, shout, place.options(), manifest=make).succeeded == 1
    assert len(sinks[0].entries) == 1


# Fields of hooks


def annotate(item: inorder.WorkItem, ctx: StageContext) -> None:
    ctx.annotate(kind="letter", letters=-1, seq="mine")


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_before_item_can_add_fields_to_the_row(place: Place, policy: str) -> None:
    hooks = inorder.StageHooks(before_item=annotate)
    place.run([place.item("a")], hooks=hooks, policy=policy)
    row = place.row("a")
    assert (row["kind"], row["letters"], row["extra_seq"], row["seq"]) == ("letter", 7, "mine", 0)
    assert row["warnings"] == []
    place.run([place.item("a")], policy=policy)
    assert (place.row("a")["status"], place.row("a")["kind"]) == ("skip", "letter")


def test_a_field_that_cannot_be_encoded_is_a_warning(place: Place) -> None:
    hooks = inorder.StageHooks(before_item=lambda item, ctx: ctx.annotate(bad=object()))
    assert place.run([place.item("a")], hooks=hooks).succeeded == 1
    [warning] = place.row("a")["warnings"]
    assert warning.startswith("before_item: TypeError: ")


def test_before_stage_can_add_fields_to_the_config_row(place: Place) -> None:
    hooks = inorder.StageHooks(before_stage=lambda ctx: ctx.annotate(model="small", stage="mine"))
    place.run([place.item("a")], hooks=hooks)
    config = place.runs()[-1][0]
    assert (config["model"], config["extra_stage"], config["stage"]) == ("small", "mine", STAGE)


def test_after_item_can_add_fields_to_telemetry(place: Place) -> None:
    def after(item: inorder.WorkItem, result: object, ctx: StageContext) -> dict[str, Any] | None:
        return {"provider": "onnx", "where": place.folder} if item.item_id == "a" else None

    outcome = place.run([place.item("a"), place.item("b")], hooks=inorder.StageHooks(after_item=after))
    [line] = [line for line in place.telemetry(outcome) if line["event"] == "item"]
    assert (line["seq"], line["item_id"]) == (0, "a")
    assert line["fields"] == json.loads(json.dumps({"provider": "onnx", "where": str(place.folder)}))
