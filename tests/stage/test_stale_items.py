"""Items that are not in the plan any more: their outputs go, and the manifest says so."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import inorder
from inorder.host.filesystem import SystemFilesystem
from inorder.stage.fingerprints import list_published
from inorder.stage.freshness import REMOVED_FROM_PLAN
from tests.stage.jobs import STAGE, Place, steady
from tests.stage.lives import Lives, portable
from tests.stage.workers import obey


def reconcile(place: Place, items: Sequence[inorder.WorkItem], *kept: str) -> inorder.StageOutcome:
    """Run exactly these. What is not among them goes, but for those that somebody wants to keep."""
    plan = inorder.StagePlan(STAGE, items, retires=lambda item_id, input_path: item_id not in kept)
    return inorder.run_stage(plan, obey, place.options())


@pytest.mark.req("DOC-4")
def test_the_outputs_of_an_item_that_is_gone_are_removed_and_the_manifest_says_so(place: Place) -> None:
    reconcile(place, [place.item("a"), place.item("b"), place.item("c")])
    outcome = reconcile(place, [place.item("a"), place.item("c")])
    assert (outcome.scheduled, outcome.skipped) == (3, 3)
    assert set(place.published()) == {
        "loud/a.txt",
        "loud/a.txt.fp.json",
        "loud/c.txt",
        "loud/c.txt.fp.json",
    }
    row = place.row("b")
    assert (row["status"], row["reason"], row["seq"]) == ("skip", REMOVED_FROM_PLAN, 2)
    assert row["output_paths"] == ["loud/b.txt"]


def test_what_is_gone_is_told_once(place: Place) -> None:
    reconcile(place, [place.item("a"), place.item("b")])
    reconcile(place, [place.item("a")])
    reconcile(place, [place.item("a")])
    assert list(place.rows()) == ["a"]


def test_what_comes_back_is_made_again_and_may_go_again(place: Place) -> None:
    reconcile(place, [place.item("a"), place.item("b")])
    before = place.published()
    reconcile(place, [place.item("a")])
    reconcile(place, [place.item("a"), place.item("b")])
    assert place.published() == before
    assert place.statuses() == {"a": "skip", "b": "success"}
    reconcile(place, [place.item("a")])
    assert place.row("b")["reason"] == REMOVED_FROM_PLAN
    assert "loud/b.txt" not in place.published()


def test_what_somebody_wants_to_keep_stays_and_may_go_later(place: Place) -> None:
    reconcile(place, [place.item("a"), place.item("b")])
    reconcile(place, [place.item("a")], "b")
    assert "loud/b.txt" in place.published()
    assert list(place.rows()) == ["a"]
    reconcile(place, [place.item("a")])
    assert "loud/b.txt" not in place.published()


def test_a_plan_that_does_not_ask_for_it_removes_nothing(place: Place) -> None:
    place.run([place.item("a"), place.item("b")])
    place.run([place.item("a")])
    assert "loud/b.txt" in place.published()


def test_an_item_that_fails_now_leaves_nothing_of_what_it_was(place: Place) -> None:
    reconcile(place, [place.item("a"), place.item("b")])
    outcome = reconcile(place, [place.item("a"), place.item("b", "fail", cfg_hash="2")])
    assert outcome.failed == 1
    assert set(place.published()) == {"loud/a.txt", "loud/a.txt.fp.json"}


def test_an_item_that_fails_keeps_its_outputs_where_nothing_is_reconciled(place: Place) -> None:
    place.run([place.item("a")])
    place.run([place.item("a", "fail", cfg_hash="2")])
    assert "loud/a.txt" in place.published()


def test_a_worker_can_have_files_removed_when_its_item_is_committed(place: Place) -> None:
    def worker(item: inorder.WorkItem, ctx: object) -> object:
        ctx.remove("loud/a.txt")  # type: ignore[attr-defined]
        ctx.remove("loud/was-never-there.txt")  # type: ignore[attr-defined]
        assert (place.data / "loud" / "a.txt").exists()
        return inorder.Skip("there is nothing to do")

    place.run([place.item("a")])
    outcome = place.run([place.item("b")], worker)
    assert outcome.skipped == 1
    assert "loud/a.txt" not in place.published()


def test_a_worker_can_say_that_there_is_no_such_thing_any_more(place: Place) -> None:
    def worker(item: inorder.WorkItem, ctx: object) -> object:
        ctx.remove_outputs()  # type: ignore[attr-defined]
        return inorder.Skip("it is empty now")

    place.run([place.item("a"), place.item("b")])
    place.run([place.item("a", cfg_hash="2")], worker)
    assert set(place.published()) == {"loud/b.txt", "loud/b.txt.fp.json"}


def test_nothing_outside_of_data_can_be_removed(place: Place) -> None:
    def worker(item: inorder.WorkItem, ctx: object) -> None:
        ctx.remove("../sources/a")  # type: ignore[attr-defined]

    outcome = place.run([place.item("a")], worker)
    assert outcome.failed == 1
    assert (place.sources / "a").exists()


@pytest.mark.process
@pytest.mark.req("DOC-4", "JRN-7")
@pytest.mark.parametrize("death", ["removed:1", "removed:4", "removed:9", "committed:6", "committed:9"])
def test_killed_while_outputs_are_removed_the_next_run_ends_the_same(tmp_path: Path, death: str) -> None:
    """Whether or not the row of a removed item was written before the end, it is there after it, once."""
    ends = []
    for folder, deaths in (("undisturbed", [""]), ("killed", [death, ""])):
        (tmp_path / folder).mkdir()
        lives = Lives(place := Place(tmp_path / folder))
        lives.live([f"item-{number}" for number in range(10)], "")
        for each in deaths:
            lives.live([f"item-{number}" for number in range(0, 10, 2)], each)
        ends.append((portable(place), place.published()))
        assert len(steady(place.lines())) == 1 + 10 + 1 + 10
    assert ends[0] == ends[1]


@pytest.mark.req("DOC-4")
def test_the_fingerprint_of_an_item_is_removed_before_its_outputs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash in between leaves an item that is not up to date, and not one that seems to be."""
    reconcile(place, [place.item("a"), place.item("b", outputs={"loud": "loud/b.txt", "more": "more/b.txt"})], "b")
    removed: list[str] = []
    remove = SystemFilesystem.unlink

    def note(self: SystemFilesystem, path: str) -> None:
        removed.append(path)
        remove(self, path)

    monkeypatch.setattr(SystemFilesystem, "unlink", note)
    reconcile(place, [])
    assert [os.path.relpath(path, place.data) for path in removed if "loud/a" in path] == [
        "loud/a.txt.fp.json",
        "loud/a.txt",
    ]
    assert list_published("DATA", {"x": "x.txt", "y": "y.txt"}) == ["x.txt.fp.json", "x.txt", "y.txt"]


@pytest.mark.req("RUN-8")
def test_a_stopped_run_counts_what_it_would_have_removed(place: Place) -> None:
    reconcile(place, [place.item("a"), place.item("b")])
    plan = inorder.StagePlan(STAGE, [place.item("bad", "fail")], retires=lambda *_: True)
    outcome = inorder.run_stage(plan, obey, place.options(error_budget=0, max_queue=1))
    assert (outcome.scheduled, outcome.failed, outcome.cancelled) == (3, 1, 2)
