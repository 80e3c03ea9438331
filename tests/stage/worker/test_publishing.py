"""Outputs appear when their item is committed: whole, in their place, and never before."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.host.filesystem import SystemFilesystem
from tests.stage.jobs import Place
from tests.stage.workers import obey, shout
from tests.support.gates import GUARD_S, Gate


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.req("RUN-5")
def test_an_output_that_waits_for_an_earlier_item_is_not_to_be_seen(place: Place) -> None:
    second_is_done = threading.Event()
    seen: list[dict[str, bytes]] = []

    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        if item.item_id == "a":
            assert second_is_done.wait(GUARD_S)
            seen.append(place.published())
        shout(item, ctx)
        if item.item_id == "b":
            second_is_done.set()

    place.run([place.item("a"), place.item("b")], worker)
    assert seen == [{}]
    assert len(place.published()) == 4


@pytest.mark.req("RUN-5")
def test_an_item_is_published_when_its_hook_is_called_and_the_next_is_not(place: Place) -> None:
    seen: dict[str, list[str]] = {}
    gate = Gate()

    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        if item.item_id == "b":
            gate.hold()
        shout(item, ctx)

    def after_item(item: inorder.WorkItem, result: object, ctx: object) -> None:
        seen[item.item_id] = names_in(place.data / "loud")
        gate.open()

    place.run([place.item("a"), place.item("b")], worker, inorder.StageHooks(after_item=after_item), workers=1)
    first = ["a.txt", "a.txt.fp.json"]
    assert seen == {"a": first, "b": [*first, "b.txt", "b.txt.fp.json"]}


@pytest.mark.req("RUN-5")
def test_every_output_moves_out_of_staging_in_one_rename(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    moves: list[tuple[str, str]] = []
    rename = SystemFilesystem.rename

    def renaming(self: SystemFilesystem, source: str, target: str) -> None:
        moves.append((os.path.relpath(source, place.data), os.path.relpath(target, place.data)))
        rename(self, source, target)

    monkeypatch.setattr(SystemFilesystem, "rename", renaming)
    place.run(place.items(3))
    published = [(source, target) for source, target in moves if not target.startswith("journal/")]
    assert [target for _, target in published] == list(place.published())
    assert all(source.startswith(".staging/shout/") for source, _ in published)
    assert len({source for source, _ in published}) == 6


@pytest.mark.req("RUN-4", "RUN-5")
def test_force_replaces_an_output_in_one_act(place: Place) -> None:
    place.run([place.item("a")])
    before: list[str] = []

    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        ctx.output("loud").write_text("another text\n")
        before.append(place.loud("a"))

    with open(place.data / "loud" / "a.txt", encoding="utf-8") as reader:
        place.run([place.item("a")], worker, force=True)
        assert reader.read() == "TEXT OF A\n"
    assert before == ["TEXT OF A\n"]
    assert place.loud("a") == "another text\n"


@pytest.mark.req("RUN-4", "RUN-5")
def test_an_item_that_fails_leaves_what_it_made_before(place: Place) -> None:
    place.run([place.item("a")])
    before = place.published()
    assert place.run([place.item("a", "write and fail")], force=True).failed == 1
    assert place.published() == before


@pytest.mark.req("RUN-5", "RTY-4")
def test_a_thread_that_was_given_up_and_writes_late_publishes_nothing(place: Place) -> None:
    late_may_go, late_is_done = threading.Event(), threading.Event()

    def worker(item: inorder.WorkItem, ctx: Any) -> dict[str, Any]:
        if item.item_id == "late":
            assert late_may_go.wait(GUARD_S)
            ctx.output("loud").write_text("too late\n")
            late_is_done.set()
            return {"late": True}
        if item.item_id == "last":
            late_may_go.set()
            assert late_is_done.wait(GUARD_S)
        return shout(item, ctx)

    items = [place.item("late"), place.item("last")]
    outcome = place.run(items, worker, workers=1, timeout_s=4.0)
    assert (outcome.succeeded, outcome.failed) == (1, 1)
    assert place.row("late")["error"]["category"] == "timeout"
    assert sorted(place.published()) == ["loud/last.txt", "loud/last.txt.fp.json"]
    assert place.loud("last") == "TEXT OF LAST\n"
    assert place.staged() == []


@pytest.mark.req("RUN-5")
def test_a_thread_that_writes_after_the_run_has_ended_leaves_nothing(place: Place) -> None:
    errors: list[BaseException] = []
    workers: list[threading.Thread] = []
    with Gate() as gate:

        def worker(item: inorder.WorkItem, ctx: Any) -> None:
            workers.append(threading.current_thread())
            path = ctx.output("loud")
            gate.hold()
            try:
                path.write_text("much too late\n")
            except OSError as error:
                errors.append(error)
                raise

        assert place.run([place.item("a")], worker, workers=1, timeout_s=0.1).failed == 1
        [left] = workers
        assert left.is_alive()
    left.join(GUARD_S)
    assert len(errors) == 1
    assert place.staged() == []
    assert place.published() == {}


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-5", "CAN-3", "CAN-4")
def test_results_that_were_computed_past_a_stop_are_kept_and_not_published(place: Place, policy: str) -> None:
    pipe = str(place.folder / "pipe")
    os.mkfifo(pipe)
    first, second = (
        place.item(*said, meta={"pipe": pipe}) for said in (("a", "wait and fail"), ("b", "shout and tell"))
    )
    outcome = place.run([first, second, *place.items(30)], policy=policy, error_budget=0, workers=2)
    assert (outcome.failed, outcome.cancelled) == (1, 31)
    assert {"a", "b"} <= set(place.called())
    assert place.published() == {}
    assert any(path.endswith("-b.txt") for path in place.staged())


def test_what_a_killed_run_left_in_staging_is_swept(place: Place) -> None:
    place.run([place.item("a")])
    left = place.data / ".staging" / "shout"
    (left / "folder").mkdir(parents=True)
    (left / "folder" / "0123-0-a.txt").write_text("half")
    other = place.data / ".staging" / "whisper"
    other.mkdir()
    (other / "0456-0-b.txt").write_text("of another stage, which may be running")
    seen: list[list[str]] = []
    place.run([place.item("b")], lambda item: seen.append(place.staged()))
    theirs = [".staging/whisper/0456-0-b.txt"]
    assert seen == [theirs]
    assert place.staged() == theirs


def test_what_a_failed_or_skipped_attempt_has_staged_goes_at_once(place: Place) -> None:
    seen: list[list[str]] = []

    def worker(item: inorder.WorkItem, ctx: Any) -> Any:
        seen.append([path for path in place.staged() if not path.endswith(".results")])
        return obey(item, ctx)

    items = [place.item("a", "write and fail"), place.item("b", "skip"), place.item("c", "forget")]
    place.run(items, worker, workers=1)
    assert seen == [[], [], []]
