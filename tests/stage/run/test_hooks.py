"""What a stage may do around its items: when it is called, where, with what; and that it can break nothing."""

import os
import threading
from typing import Any

import pytest

import inorder
from inorder.stage.contracts import ItemResult, PassHooks
from tests.stage.jobs import Place
from tests.stage.workers import before, count_two, failing_setup, interrupting, leaving, setting_up, shout, telling


@pytest.mark.req("RUN-6")
def test_hooks_are_called_around_the_stage_and_around_each_item_in_the_order_of_the_plan(place: Place) -> None:
    calls: list[str] = []

    def worker(item: inorder.WorkItem, ctx: Any) -> Any:
        calls.append(f"worker {item.item_id}")
        return shout(item, ctx)

    hooks = inorder.StageHooks(
        before_stage=lambda ctx: calls.append(f"before {ctx.stage}"),
        before_item=lambda item, ctx: calls.append(f"before {item.item_id}"),
        after_item=lambda item, result, ctx: calls.append(f"after {item.item_id}"),
        after_stage=lambda outcome: calls.append(f"after {outcome.stage}: {outcome.succeeded}"),
    )
    place.run(place.items(3), worker, hooks, workers=1)
    names = [f"item-000{number}" for number in range(3)]
    assert (calls[0], calls[-1]) == ("before shout", "after shout: 3")
    assert [call for call in calls if call.startswith("after item")] == [f"after {name}" for name in names]
    for name in names:
        assert calls.index(f"worker {name}") == calls.index(f"before {name}") + 1


@pytest.mark.req("RUN-6")
def test_an_item_hook_runs_where_the_item_runs_and_the_others_where_the_stage_does(place: Place) -> None:
    here: dict[str, tuple[int, int]] = {}

    def note(name: str) -> None:
        here[name] = (os.getpid(), threading.get_ident())

    hooks = inorder.StageHooks(
        before_stage=lambda ctx: note("before stage"),
        before_item=lambda item, ctx: note("before item"),
        after_stage=lambda outcome: note("after stage"),
    )
    place.run([place.item("a")], lambda item: note("worker"), hooks)
    ours = (os.getpid(), threading.get_ident())
    assert here["before stage"] == here["after stage"] == ours
    assert here["before item"] == here["worker"] != ours


@pytest.mark.req("RUN-6")
def test_after_an_item_its_result_is_shown_or_what_went_wrong(place: Place) -> None:
    shown: dict[str, Any] = {}

    def note(item: inorder.WorkItem, result: ItemResult, ctx: inorder.StageContext) -> None:
        shown[item.item_id] = result

    hooks = inorder.StageHooks(before_item=lambda item, ctx: ctx.annotate(prepared=True), after_item=note)
    place.run([place.item("a"), place.item("b", "skip"), place.item("c", "fail")], hooks=hooks)
    assert shown["a"] == {"letters": 7}
    assert shown["b"] == inorder.Skip("not wanted", {"pages": 3})
    assert type(shown["c"]) is inorder.Failure
    assert (shown["c"].category, shown["c"].message) == ("runtime", "ValueError: this one is bad")
    assert place.row("a")["prepared"]
    place.run([place.item("a")], hooks=hooks)
    assert type(shown["a"]) is inorder.Skip
    assert shown["a"].reason.startswith("its outputs, inputs")
    assert shown["a"].value == {"letters": 7, "prepared": True}
    place.run([place.item("d", outputs={})], lambda item: None, hooks)
    assert shown["d"] is None


@pytest.mark.req("RUN-6", "API-3")
def test_after_an_item_the_context_has_what_sinks_got(place: Place) -> None:
    got: dict[str, Any] = {}

    def deliver(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
        ctx.hand_over([item.item_id])
        if item.item_id == "bad":
            raise ValueError("this one is bad")
        if item.item_id == "good":
            ctx.deliver({"name": item.item_id})

    hooks = inorder.StageHooks(after_item=lambda item, result, ctx: got.update({item.item_id: ctx.delivery}))
    place.run([place.item(name, outputs={}) for name in ("good", "bad", "quiet")], deliver, hooks)
    assert got == {"good": {"name": "good"}, "bad": ["bad"], "quiet": None}


def broken(*arguments: object) -> None:
    raise RuntimeError("hook down")


@pytest.mark.req("RUN-6")
def test_a_hook_that_raises_is_a_warning_and_nothing_more(place: Place) -> None:
    hooks = inorder.StageHooks(before_stage=broken, after_stage=broken, before_item=broken, after_item=broken)
    outcome = place.run(place.items(2), hooks=hooks)
    assert outcome.succeeded == 2
    assert outcome.warnings == [
        "before_stage: RuntimeError: hook down",
        "after_item: RuntimeError: hook down",
        "after_item: RuntimeError: hook down",
        "after_stage: RuntimeError: hook down",
    ]
    assert place.row("item-0001")["warnings"] == ["before_item: RuntimeError: hook down"]
    assert len(place.published()) == 4


class Silent(BaseException):
    """An exception without a message: it cannot be printed."""

    def __str__(self) -> str:
        raise SystemExit(1)


LAST_WORDS = {
    "SystemExit: 1": SystemExit(1),
    "KeyboardInterrupt: ": KeyboardInterrupt(),
    "GeneratorExit: ": GeneratorExit(),
    "Silent": Silent(),
    "ValueError: \\udcff": ValueError("\udcff"),
}


@pytest.mark.req("RUN-6", "API-3")
@pytest.mark.parametrize("said", LAST_WORDS)
@pytest.mark.parametrize("commit_thread", [True, False])
def test_whatever_a_hook_raises_ends_nothing(place: Place, said: str, commit_thread: bool) -> None:
    def leave(*arguments: object) -> None:
        is_here = threading.current_thread() is threading.main_thread()
        raise RuntimeError if is_here and said.startswith("KeyboardInterrupt") else LAST_WORDS[said]

    hooks = inorder.StageHooks(before_stage=leave, after_stage=leave, before_item=leave, after_item=leave)
    outcome = place.run(place.items(2), hooks=hooks, commit_thread=commit_thread)
    assert (outcome.succeeded, outcome.failed, outcome.stop_kind) == (2, 0, None)
    assert place.row("item-0001")["warnings"] == [f"before_item: {said}"]
    assert [warning.partition(":")[0] for warning in outcome.warnings] == [
        "before_stage",
        "after_item",
        "after_item",
        "after_stage",
    ]


@pytest.mark.req("RUN-6")
@pytest.mark.parametrize("name", ["before_stage", "after_stage"])
def test_an_interrupt_is_not_a_matter_of_hooks(place: Place, name: str) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place.run(place.items(1), hooks=inorder.StageHooks(**{name: interrupt}))


def circle() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["itself"] = found
    return found


@pytest.mark.req("RUN-6", "RUN-14")
@pytest.mark.parametrize("found", [circle(), {"name": "\udcff"}, {"a": Silent()}])
def test_fields_for_telemetry_that_cannot_be_written_are_a_warning(place: Place, found: Any) -> None:
    outcome = place.run(place.items(2), hooks=inorder.StageHooks(after_item=lambda item, result, ctx: found))
    assert outcome.succeeded == 2
    assert [warning.partition(":")[0] for warning in outcome.warnings] == ["after_item", "after_item"]


@pytest.mark.process
@pytest.mark.req("RUN-6", "API-3")
@pytest.mark.parametrize(("leave", "said"), [(leaving, "SystemExit: 3"), (interrupting, "KeyboardInterrupt: ")])
def test_whatever_a_hook_raises_ends_no_worker_process(place: Place, leave: Any, said: str) -> None:
    hooks = PassHooks(worker_setup=leave, before_item=leave, group_size=count_two, before_group=leave)
    outcome = place.run(place.items(4), hooks=hooks, policy="cpu", workers=1)
    assert (outcome.succeeded, outcome.failed) == (4, 0)
    for row in place.rows().values():
        assert row["warnings"] == [f"worker_setup: {said}", f"before_item: {said}"]
    assert not [line for line in place.telemetry(outcome) if "lost" in line["event"]]


@pytest.mark.slow
@pytest.mark.req("RUN-6")
def test_hooks_that_always_raise_do_not_fill_the_memory(place: Place) -> None:
    items = [inorder.WorkItem(item_id=str(number)) for number in range(500)]
    outcome = place.run(items, lambda item: None, inorder.StageHooks(after_item=broken))
    assert outcome.succeeded == 500
    assert len(outcome.warnings) == 101
    assert outcome.warnings[-1] == "further warnings were dropped"


@pytest.mark.process
@pytest.mark.req("RUN-6")
def test_every_worker_process_is_set_up_once_before_its_first_item(place: Place) -> None:
    hooks = inorder.StageHooks(worker_setup=setting_up, before_item=before)
    place.data.mkdir()
    assert place.run(place.items(60), telling, hooks, policy="cpu").succeeded == 60
    pids = (place.data / "setups").read_text().split()
    assert 1 <= len(pids) <= 2
    assert len(set(pids)) == len(pids)
    assert str(os.getpid()) not in pids
    for name, row in place.rows().items():
        assert (row["opened_here"], row["prepared"]) == (True, name)


@pytest.mark.process
@pytest.mark.req("RUN-6")
def test_a_process_that_takes_the_place_of_a_dead_one_is_set_up_too(place: Place) -> None:
    place.data.mkdir()
    hooks = inorder.StageHooks(worker_setup=setting_up)
    outcome = place.run([place.item("a", "kill"), place.item("b")], hooks=hooks, policy="cpu", workers=1)
    assert (outcome.succeeded, outcome.failed) == (1, 1)
    assert len((place.data / "setups").read_text().split()) == 3


@pytest.mark.process
@pytest.mark.req("RUN-6")
def test_a_setup_that_raises_is_a_warning_at_every_item(place: Place) -> None:
    outcome = place.run(place.items(2), hooks=inorder.StageHooks(worker_setup=failing_setup), policy="cpu")
    assert outcome.succeeded == 2
    for row in place.rows().values():
        assert row["warnings"] == ["worker_setup: RuntimeError: no model here"]


@pytest.mark.req("RUN-6")
def test_what_is_opened_before_the_stage_is_there_for_all_threads_and_closed_after_it(place: Place) -> None:
    closed: list[str] = []
    opened: dict[str, Any] = {}

    def before_stage(ctx: Any) -> None:
        ctx.resources["model"] = opened
        ctx.resources["setup_error"] = "a name that a stage may use"

    hooks = inorder.StageHooks(before_stage=before_stage, after_stage=lambda outcome: closed.append("model"))
    seen = []

    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        seen.append(ctx.resources["model"] is opened)

    place.run([place.item(name, outputs={}) for name in "abcd"], worker, hooks)
    assert seen == [True] * 4
    assert closed == ["model"]
    assert [row["warnings"] for row in place.rows().values()] == [[]] * 4


def test_the_context_of_a_stage_knows_where_and_how_it_runs(place: Place) -> None:
    seen: list[Any] = []
    place.run([], hooks=inorder.StageHooks(before_stage=seen.append), retries=4)
    [context] = seen
    assert (context.stage, context.data, context.options.retries) == ("shout", place.data, 4)
    with pytest.raises(KeyError, match="declares no output"):
        context.output("loud")


def test_an_item_that_is_satisfied_is_not_announced(place: Place) -> None:
    place.run(place.items(2))
    announced: list[str] = []
    hooks = inorder.StageHooks(before_item=lambda item, ctx: announced.append(item.item_id))
    assert place.run(place.items(3), hooks=hooks).skipped == 2
    assert announced == ["item-0002"]
