"""The words that a stage and its runner share: their names, what they weigh, and what they refuse."""

import inspect
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

import inorder
from inorder.stage import StageErrorSummary, contracts
from inorder.stage.engine import make_kernel_options
from tests.tidy.test_import import HEAVY, modules_loaded_by

FIELDS = {
    "StagePlan": {"stage_name", "items", "total_items"},
    "WorkItem": {"item_id", "inputs", "outputs", "cfg_hash", "cost_hint", "meta"},
    "StageOptions": {
        "policy",
        "workers",
        "schedule",
        "timeout_s",
        "retries",
        "retry_backoff_s",
        "error_budget",
        "max_queue",
        "diagnostics_interval_s",
        "fingerprinting",
    },
    "StageHooks": {"before_stage", "after_stage", "before_item", "after_item"},
    "StageOutcome": {
        "scheduled",
        "skipped",
        "succeeded",
        "failed",
        "cancelled",
        "wall_ms",
        "queue_p50_ms",
        "exec_p50_ms",
        "exec_p95_ms",
        "items_per_s",
        "errors",
    },
}
"""As the project's own sources name them; there may be more."""


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.req("RUN-1")
def test_a_contract_has_the_fields_it_was_asked_to_have(name: str) -> None:
    struct = getattr(inorder, name)
    assert FIELDS[name] <= set(struct.__struct_fields__)
    assert struct.__struct_config__.frozen


@pytest.mark.req("API-3")
def test_a_stage_can_say_what_a_user_needs_and_nothing_that_only_the_pipeline_does() -> None:
    plan = ("stage_name", "items", "total_items", "retires", "expected_items", "policy")
    assert inorder.StagePlan.__struct_fields__ == plan
    about = ("item_id", "inputs", "outputs", "cfg_hash", "cost_hint", "size_hint", "meta", "batch_key", "reads")
    assert inorder.WorkItem.__struct_fields__ == about
    hooks = ("before_stage", "after_stage", "before_item", "after_item", "worker_setup")
    assert inorder.StageHooks.__struct_fields__ == hooks
    known = ["plan", "worker", "options", "hooks", "origin", "sinks", "finish", "manifest"]
    assert list(inspect.signature(inorder.run_stage).parameters) == known


@pytest.mark.req("RUN-1")
def test_an_error_has_the_fields_it_was_asked_to_have() -> None:
    error = inorder.StageError("no model", category="config", detail="looked in two places", stage="embed", item_id="a")
    fields = ("stage", "item_id", "category", "message", "retryable", "detail")
    said = ("embed", "a", "config", "no model", False, "looked in two places")
    assert tuple(getattr(error, field) for field in fields) == said
    travelled = pickle.loads(pickle.dumps(error))
    assert tuple(getattr(travelled, field) for field in fields) == said
    assert str(travelled) == "no model"


def test_an_error_of_no_known_category_is_refused() -> None:
    with pytest.raises(ValueError, match="weather"):
        inorder.StageError("rain", category="weather")


@pytest.mark.req("DEC-8")
def test_cancelled_is_a_count_with_a_reason_and_a_flag_beside_it() -> None:
    types = inorder.StageOutcome.__annotations__
    assert (types["cancelled"], types["was_cancelled"]) == (int, bool)
    assert types["cancel_reason"] == str | None


@pytest.mark.process
@pytest.mark.parametrize(
    "statement",
    ["import inorder.stage.contracts", "from inorder import StagePlan, WorkItem, StageOptions, StageHooks, StageError"],
)
@pytest.mark.req("RUN-1")
def test_importing_the_contracts_imports_nothing_heavy(statement: str) -> None:
    loaded = modules_loaded_by(statement)
    assert "inorder.stage.contracts" in loaded
    assert loaded & HEAVY == set()
    light = {f"inorder.stage.{name}" for name in ("contracts", "inputs", "options")}
    assert {name for name in loaded if name.startswith("inorder.stage.")} == light


@pytest.mark.process
def test_a_worker_process_does_not_load_the_runner() -> None:
    loaded = modules_loaded_by("import inorder.stage.worker")
    assert loaded & {"sqlite3", "rich", "inorder.stage.run", "inorder.stage.monitor.monitor"} == set()


def test_every_public_name_is_there() -> None:
    for name in contracts.__all__:
        assert getattr(inorder, name) is getattr(contracts, name)
    assert inorder.run_stage.__module__ == "inorder.stage.run"


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("engine", "cluster", "engine must be one of local, ray, got 'cluster'"),
        ("ray", {"cpus": 2}, "ray must be a RayOptions, got dict"),
        ("policy", "gpus", "policy must be one of io, cpu, gpu, got 'gpus'"),
        ("schedule", "lifo", "schedule must be one of fifo, sjf, got 'lifo'"),
        ("fsync", "never", "fsync must be one of always, batch, interval, off, got 'never'"),
        ("progress", "loud", "progress must be one of auto, bar, lines, none, got 'loud'"),
        ("workers", 0, "workers must be between 1 and 1024, got 0"),
        ("workers", 1025, "workers must be between 1 and 1024, got 1025"),
        ("workers", "4", "workers must be an integer, got '4'"),
        ("workers", True, "workers must be an integer, got True"),
        ("retries", -1, "retries must be between 0 and 1000, got -1"),
        ("retries", None, "retries must be an integer, got None"),
        ("error_budget", -1, "error_budget must be between 0 and"),
        ("max_queue", 0, "max_queue must be between 1 and"),
        ("buffered_bytes_max", 0, "buffered_bytes_max must be between 1 and"),
        ("memory_bytes_max", 0, "memory_bytes_max must be between 1 and"),
        ("timeout_s", -0.1, "timeout_s must be between 0 and"),
        ("timeout_s", float("nan"), "timeout_s must be between 0 and"),
        ("retry_backoff_s", float("inf"), "retry_backoff_s must be between 0 and"),
        ("cancel_grace_s", "5", "cancel_grace_s must be a number of seconds, got '5'"),
        ("diagnostics_interval_s", 0, "diagnostics_interval_s must be greater than 0"),
        ("data", 5, "data must be a path, got 5"),
        ("data", "", "data must be a path, got ''"),
        ("data", None, "data must be a path, got None"),
        ("metrics_file", b"m", "metrics_file must be a path, got b'm'"),
        ("retries", 1.5, "retries must be an integer, got 1.5"),
        ("resume", "no", "resume must be True or False, got 'no'"),
        ("force", 1, "force must be True or False, got 1"),
        ("windows", {"entries": 4}, "windows must be a Windows, got dict"),
        ("budgets", None, "budgets must be a Budgets, got NoneType"),
    ],
)
def test_an_option_out_of_its_range_is_refused_in_one_line(option: str, value: Any, complaint: str) -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        inorder.StageOptions(**{option: value})
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


WRONG: list[Any] = [None, True, "x", "", 1.5, -1, 0, 2**70, float("nan"), float("inf"), b"x", [], {}, object(), print]


@pytest.mark.req("API-3")
@pytest.mark.parametrize(("kind", "place"), [("StageOptions", ""), ("Windows", "windows."), ("Budgets", "budgets.")])
def test_what_is_wrong_with_an_option_is_said_with_the_name_that_the_user_wrote(kind: str, place: str) -> None:
    make = getattr(inorder, kind)
    for field in msgspec.structs.fields(make):
        said = [complain(partial(make, **{field.name: value})) for value in WRONG]
        complaints = [complaint for complaint in said if complaint is not None]
        assert [complaint for complaint in complaints if f"{place}{field.name} " not in complaint] == []
        assert len(complaints) >= len(WRONG) - 5, f"{field.name} takes almost anything"


def complain(make: Callable[[], Any]) -> str | None:
    try:
        make()
    except inorder.OperatorError as error:
        return str(error)
    return None


def test_workers_that_follow_a_cluster_cannot_follow_their_results_too() -> None:
    with pytest.raises(inorder.OperatorError, match="adaptive needs workers=N on a cluster"):
        inorder.StageOptions(engine="ray", adaptive=True)
    assert inorder.StageOptions(engine="ray", adaptive=True, workers=8).workers == 8
    assert inorder.StageOptions(adaptive=True).workers is None


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="wrokers"):
        inorder.StageOptions(wrokers=2)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"item_id": ""}, "item_id must be a non-empty string, got ''"),
        ({"item_id": 7}, "item_id must be a non-empty string, got 7"),
        ({"item_id": "a", "inputs": ["b"]}, "item 'a': inputs, outputs and meta must be mappings, got list"),
        ({"item_id": "a", "outputs": "b"}, "item 'a': inputs, outputs and meta must be mappings, got str"),
        ({"item_id": "a", "cost_hint": "much"}, "item 'a': cost_hint must be a number, got 'much'"),
    ],
)
def test_an_item_that_cannot_be_one_is_refused_where_it_is_made(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        inorder.WorkItem(**fields)
    assert str(caught.value) == complaint


@pytest.mark.parametrize("name", ["", "..", "a/b", "shout\n", ".hidden", "x" * 101])
def test_a_stage_whose_name_cannot_name_a_file_is_refused(name: str) -> None:
    with pytest.raises(inorder.OperatorError, match="the name of a stage must have"):
        inorder.StagePlan(name, [])


def test_a_plan_or_a_worker_that_is_none_is_refused() -> None:
    with pytest.raises(inorder.OperatorError, match="needs a StagePlan, got list"):
        inorder.run_stage([], print)  # type: ignore[arg-type]
    with pytest.raises(inorder.OperatorError, match="needs a worker that can be called, got str"):
        inorder.run_stage(inorder.StagePlan("shout", []), "print")  # type: ignore[arg-type]


@pytest.mark.req("API-3")
@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: inorder.StagePlan(5, []), "the name of a stage must have 1 to 100 characters"),  # type: ignore[arg-type]
        (lambda: inorder.StagePlan("s", None), "items of a plan must be iterable, got NoneType"),  # type: ignore[arg-type]
        (lambda: inorder.StagePlan("s", [], 1.5), "total_items of a plan must be None or a number of items, got 1.5"),  # type: ignore[arg-type]
        (lambda: inorder.StagePlan("s", [], -3), "total_items of a plan must be None or a number of items, got -3"),
        (lambda: inorder.StagePlan("s", [], policy="tpu"), "policy of a plan must be one of io, cpu, gpu, got 'tpu'"),  # type: ignore[arg-type]
        (lambda: inorder.StageHooks(after_item=5), "after_item of the hooks must be callable, got int"),  # type: ignore[arg-type]
        (lambda: make_stage(worker="work"), "worker of a stage must be callable, got 'work'"),
        (lambda: make_stage(hooks={}), "hooks of a stage must be a StageHooks, got dict"),
        (lambda: run_with(options={"workers": 2}), "options must be StageOptions, got dict"),
        (lambda: run_with(hooks={"after_item": print}), "hooks must be StageHooks, got dict"),
        (lambda: run_with(sinks=["sink"]), "sinks must be a list of sinks, got a str"),
        (lambda: run_with(sinks=None), "sinks must be a list of sinks, got NoneType"),
        (lambda: run_with(finish=5), "finish must be callable, got int"),
    ],
)
def test_a_part_of_a_stage_that_cannot_be_one_is_refused_by_its_name(make: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        make()
    assert str(caught.value).startswith(complaint)


def make_stage(**fields: Any) -> inorder.Stage:
    known = {"name": "s", "plan": print, "worker": print}
    return inorder.Stage(**(known | fields))


def run_with(**fields: Any) -> inorder.StageOutcome:
    return inorder.run_stage(inorder.StagePlan("s", []), print, **fields)


def test_contracts_can_be_written_as_json() -> None:
    summary = StageErrorSummary("io", "disk", 2, "a")
    assert msgspec.json.decode(msgspec.json.encode(summary))["count"] == 2


def test_on_a_cluster_windows_and_what_is_read_ahead_grow_with_the_workers() -> None:
    def windows(**options: Any) -> tuple[int, int]:
        found = make_kernel_options(inorder.StageOptions(**options)).windows
        return found.entries, found.plan_ahead

    assert windows(workers=100) == (1024, 1024)
    assert windows(engine="ray", workers=4) == (1024, 1024)
    assert windows(engine="ray", workers=500) == (32_000, 4000)
    assert windows(engine="ray") == (65_536, 8192)
    assert windows(engine="ray", workers=4, max_queue=5000) == (1024, 5000)
