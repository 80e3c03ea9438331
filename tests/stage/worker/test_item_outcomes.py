"""How items end, and what is said of it: in the outcome, in the manifest, on the disk."""

import pytest

import inorder
from inorder.stage.manifest.rows import BASE_FIELDS
from tests.stage.jobs import Place, steady

POLICIES = pytest.mark.parametrize("policy", ["io", "cpu", "gpu"])


@pytest.mark.process
@POLICIES
@pytest.mark.req("RUN-2", "RUN-3", "RUN-7")
def test_a_success_a_skip_and_a_failure_have_the_same_base_fields(place: Place, policy: str) -> None:
    deeds = ["shout", "skip", "fail"]
    outcome = place.run([place.item(f"{do}-it", do) for do in deeds], policy=policy)
    assert (outcome.scheduled, outcome.succeeded, outcome.skipped, outcome.failed, outcome.cancelled) == (3, 1, 1, 1, 0)
    config, *rows = place.runs()[-1]
    assert config["doc_id"] == "__config__"
    assert [row["status"] for row in rows] == ["success", "skip", "failure"]
    assert [list(row)[: len(BASE_FIELDS)] for row in rows] == [list(BASE_FIELDS)] * 3
    assert [list(row)[len(BASE_FIELDS) :] for row in rows] == [["letters"], ["pages"], []]
    assert place.loud("shout-it") == "TEXT OF SHOUT-IT\n"
    assert sorted(place.published()) == ["loud/shout-it.txt", "loud/shout-it.txt.fp.json"]


def test_a_skip_says_why_and_publishes_nothing(place: Place) -> None:
    place.run([place.item("a", "skip")])
    row = place.row("a")
    assert (row["reason"], row["error"], row["pages"]) == ("not wanted", None, 3)
    assert place.published() == {}
    assert place.staged() == []


def test_a_reason_that_is_no_text_is_written_as_text(place: Place) -> None:
    outcome = place.run([place.item("a")], lambda item: inorder.Skip(404))  # type: ignore[arg-type]
    assert outcome.skipped == 1
    assert place.row("a")["reason"] == "404"


@pytest.mark.process
@pytest.mark.parametrize(
    ("do", "category", "message", "retryable"),
    [
        ("fail", "runtime", "ValueError: this one is bad", False),
        ("stage error", "config", "the model is not there", False),
        ("unreachable", "provider", "ConnectionError: nobody answers", True),
        ("disk", "io", "OSError: [Errno 5] the disk is tired", True),
        ("odd", "unknown", "Exception: never heard of it", False),
    ],
)
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RTY-1")
def test_a_failure_says_whose_fault_it_is(
    place: Place, do: str, category: str, message: str, retryable: bool, policy: str
) -> None:
    outcome = place.run([place.item("a", do)], policy=policy, workers=1)
    row = place.row("a")
    where = {"stage": "shout", "item_id": "a"} if do == "stage error" else {}
    assert row["error"] == {"category": category, "message": message, "retryable": retryable, **where}
    assert row["attempts"] == 1
    [summary] = outcome.errors
    assert (summary.category, summary.message, summary.count, summary.item_id) == (category, message, 1, "a")


@pytest.mark.parametrize(
    ("category", "retryable", "attempts"),
    [("input", True, 1), ("config", True, 1), ("timeout", True, 1), ("runtime", True, 3), ("provider", False, 1)],
)
@pytest.mark.req("RTY-1")
def test_what_can_never_succeed_is_not_tried_again(place: Place, category: str, retryable: bool, attempts: int) -> None:
    item = place.item("a", "stage error", meta={"category": category, "retryable": retryable})
    place.run([item], retries=2)
    assert place.row("a")["attempts"] == attempts
    assert place.called() == ["a"] * attempts


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RTY-2")
def test_an_item_that_fails_and_then_works_is_a_success_with_its_attempts(place: Place, policy: str) -> None:
    items = [place.item("a"), place.item("b", "flaky", meta={"failures": 2}), place.item("c")]
    outcome = place.run(items, policy=policy, retries=2)
    assert outcome.succeeded == 3
    assert [row["attempts"] for row in place.rows().values()] == [1, 3, 1]
    assert place.loud("b") == "TEXT OF B\n"
    assert place.staged() == []


@pytest.mark.req("RTY-2")
def test_retries_that_are_used_up_leave_the_last_failure(place: Place) -> None:
    place.run([place.item("a", "flaky", meta={"failures": 9})], retries=2)
    row = place.row("a")
    assert (row["status"], row["attempts"], row["error"]["category"]) == ("failure", 3, "provider")


@pytest.mark.process
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("CAN-3")
def test_the_error_budget_stops_at_the_same_item_however_many_workers(place: Place, workers: int, policy: str) -> None:
    bad = {3, 5, 8}
    items = [place.item(f"item-{n:02}", "fail" if n in bad else "shout") for n in range(40)]
    outcome = place.run(items, policy=policy, workers=workers, error_budget=1)
    assert (outcome.succeeded, outcome.failed, outcome.cancelled, outcome.scheduled) == (4, 2, 34, 40)
    assert (outcome.stop_kind, outcome.was_cancelled) == ("error budget", True)
    assert list(place.rows()) == [f"item-{n:02}" for n in range(6)]
    assert len(place.published()) == 8
    assert place.run(items, policy=policy, workers=workers).stop_kind is None
    assert place.staged() == [], "what was computed past the stop is adopted"


@pytest.mark.req("CAN-3")
def test_a_budget_of_none_tolerates_everything_and_of_zero_nothing(place: Place) -> None:
    items = [place.item(f"item-{n}", "fail") for n in range(5)]
    assert place.run(items).failed == 5
    outcome = place.run(items, error_budget=0)
    assert (outcome.failed, outcome.cancelled, outcome.was_cancelled) == (1, 4, True)
    assert outcome.cancel_reason


def test_a_worker_may_leave_warnings_of_any_kind(place: Place) -> None:
    def warning(item: inorder.WorkItem, ctx: object) -> None:
        ctx.warn("odd font")  # type: ignore[attr-defined]
        ctx.warn(ValueError("odd page"))  # type: ignore[attr-defined]

    assert place.run([place.item("a", outputs={})], warning).succeeded == 1
    assert place.row("a")["warnings"] == ["odd font", "odd page"]


@pytest.mark.req("DEC-9")
def test_a_worker_takes_the_item_alone_or_the_context_too(place: Place) -> None:
    class Callable:
        def __call__(self, item: inorder.WorkItem, ctx: object) -> dict[str, str]:
            return {"context": type(ctx).__name__}

    def alone(item: inorder.WorkItem, *, loud: bool = True) -> dict[str, str]:
        return {"context": "none"}

    def open_ended(*arguments: object) -> dict[str, int]:
        return {"context": len(arguments)}

    for worker, said in ((Callable(), "StageContext"), (alone, "none"), (open_ended, 2)):
        place.run([place.item("a", outputs={})], worker)
        assert place.row("a")["context"] == said


def test_an_output_that_was_not_declared_is_named_with_those_that_were(place: Place) -> None:
    outcome = place.run([place.item("a")], lambda item, ctx: ctx.output("quiet"))
    assert "declares no output 'quiet'; declared outputs: loud" in outcome.errors[0].message


@pytest.mark.process
@pytest.mark.req("LED-7", "RTY-1")
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_a_full_disk_stops_the_run_and_fails_nobody(place: Place, policy: str) -> None:
    room = place.folder / "room"
    items = [place.item("a"), place.item("b", "full disk", meta={"room": str(room)}), place.item("c")]
    with pytest.raises(inorder.InfrastructureError, match=r"disk full.*No space left.*run the same command again"):
        place.run(items, policy=policy, workers=1, retries=3)
    assert not any(row["status"] == "failure" for run in place.runs() for row in run)
    room.touch()
    outcome = place.run(items, policy=policy, workers=1)
    assert (outcome.failed, outcome.succeeded + outcome.skipped) == (0, 3)
    assert place.loud("b") == "TEXT OF B\n"


@pytest.mark.process
@pytest.mark.req("JRN-7", "RTY-3")
def test_the_row_of_an_item_that_kills_its_process_is_the_same_in_every_run(place: Place) -> None:
    rows = []
    for _ in range(2):
        place.run([place.item("a", "kill")], policy="cpu", workers=1)
        rows.append(steady([place.row("a")]))
    assert rows[0] == rows[1]
    message = "its worker died twice while running it, the second time in isolation: the process was killed by SIGKILL"
    assert rows[0][0]["error"]["message"] == message
