"""What a worker makes, or fails to make, and where it may lie."""

from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.stage.data_layout import RESERVED_FOLDERS
from tests.stage.jobs import Place


@pytest.mark.process
@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("forget", "the worker did not write its output 'loud'"),
        ("empty", "the worker left its output 'loud' empty"),
    ],
)
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-5")
def test_an_output_that_is_not_there_or_empty_fails_its_item_alone(
    place: Place, do: str, message: str, policy: str
) -> None:
    outcome = place.run([place.item("a"), place.item("b", do), place.item("c")], policy=policy, retries=2)
    assert place.statuses() == {"a": "success", "b": "failure", "c": "success"}
    row = place.row("b")
    where = {"stage": "shout", "item_id": "b"}
    assert row["error"] == {"category": "runtime", "message": message, "retryable": False, **where}
    assert row["attempts"] == 1
    assert outcome.failed == 1
    assert not any("/b." in path for path in place.published())
    assert place.staged() == []


def test_one_forgotten_output_of_two_publishes_neither(place: Place) -> None:
    item = place.item("a", outputs={"loud": "loud/a.txt", "quiet": "quiet/a.txt"})
    outcome = place.run([item])
    assert outcome.errors[0].message == "the worker did not write its output 'quiet'"
    assert place.published() == {}


RESERVED = "cannot be published in DATA: this path is reserved"
LIBRARY_FILES = ["library.sqlite", "library.sqlite-wal", "library.vectors.0f.f32"]
EARLIER_FILES = ["index.sqlite", "index.draft.sqlite", "store/chunk.sqlite"]
OUTSIDE = [
    ("../elsewhere.txt", "it leaves its directory"),
    ("loud/../../elsewhere.txt", "it leaves its directory"),
    ("/elsewhere.txt", "lies outside of DATA"),
    ("", "it is empty"),
    ("./a.txt", "it is not in normal form"),
    ("loud//a.txt", "it is not in normal form"),
    ("loud/a\0.txt", "it contains a null character"),
    ("loud/\udcff.txt", "it is not valid Unicode"),
    (f"loud/{'x' * 248}", "file name too long to store its result: 248 bytes with its ending; the limit for a name is"),
    ("/".join(["x" * 200] * 21), "path too long to store its result: 4,"),
    *((f"{folder}/a.txt", RESERVED) for folder in RESERVED_FOLDERS),
    *((name, RESERVED) for name in (*LIBRARY_FILES, *EARLIER_FILES)),
]


@pytest.mark.parametrize(("path", "complaint"), OUTSIDE, ids=[path[:24] or "empty" for path, _ in OUTSIDE])
@pytest.mark.req("RUN-5")
def test_an_output_with_no_place_in_data_fails_its_item_alone(place: Place, path: str, complaint: str) -> None:
    items = [place.item("a"), place.item("b", outputs={"loud": path}), place.item("c")]
    before = sorted(place.folder.rglob("elsewhere*"))
    place.run(items)
    assert place.statuses() == {"a": "success", "b": "failure", "c": "success"}
    error = place.row("b")["error"]
    assert error["category"] == ("input" if "too long" in complaint else "config")
    assert complaint in error["message"]
    assert place.called() == ["a", "c"]
    assert sorted(place.folder.rglob("elsewhere*")) == before
    assert place.staged() == []


@pytest.mark.process
def test_a_worker_process_knows_the_reserved_files_too(place: Place) -> None:
    place.run([place.item("a", outputs={"loud": "index.sqlite"})], policy="cpu", workers=1)
    assert RESERVED in place.row("a")["error"]["message"]
    assert place.published() == {}


def test_below_a_folder_no_name_is_reserved(place: Place) -> None:
    assert place.run([place.item("a", outputs={"loud": "loud/index.sqlite"})]).succeeded == 1


def test_an_output_may_be_named_by_its_whole_path(place: Place) -> None:
    place.run([place.item("a", outputs={"loud": place.data / "loud" / "a.txt"})])
    assert place.loud("a") == "TEXT OF A\n"
    assert place.rows()["a"]["output_paths"] == [str(place.data / "loud" / "a.txt")]
    assert place.run([place.item("a", outputs={"loud": "loud/a.txt"})]).skipped == 1


@pytest.mark.parametrize("outputs", [{"loud": "a", "quiet": "a"}, {"loud": "a", "quiet": "a.fp.json"}])
def test_two_files_for_one_name_fail_the_item_and_not_the_stage(place: Place, outputs: dict[str, str]) -> None:
    outcome = place.run([place.item("a", outputs=outputs), place.item("b")])
    assert (outcome.succeeded, outcome.failed) == (1, 1)
    assert place.row("a")["error"]["category"] == "config"
    assert "would be published as 'a" in place.row("a")["error"]["message"]


def test_without_fingerprints_a_file_may_have_the_name_that_one_would_have(place: Place) -> None:
    def both(item: inorder.WorkItem, ctx: Any) -> None:
        for name in item.outputs:
            ctx.output(name).write_text(name)

    item = place.item("a", outputs={"loud": "a", "quiet": "a.fp.json"})
    assert place.run([item], both, fingerprinting=False).succeeded == 1
    assert place.published() == {"a": b"loud", "a.fp.json": b"quiet"}


@pytest.mark.parametrize(
    "name", ["x" * 247, "\N{PILE OF POO}" * 61, "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 82 + "x", "a b\n'c\""]
)
def test_a_name_that_a_filesystem_takes_is_taken(place: Place, name: str) -> None:
    item = place.item("a", outputs={"loud": f"loud/{name}"})
    assert place.run([item]).succeeded == 1
    assert (place.data / "loud" / name).read_text() == "TEXT OF A\n"
    assert place.run([item]).skipped == 1


def test_a_staged_file_keeps_the_ending_of_its_name(place: Place) -> None:
    """Some libraries choose a format by it."""
    seen: list[Path] = []

    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        seen.append(ctx.output("loud"))
        assert ctx.output("loud") == seen[-1]
        seen[-1].write_text("x")

    place.run([place.item("a", outputs={"loud": "deep/down/a.tar.gz"})], worker)
    [staged] = seen
    assert staged.name.endswith("-a.tar.gz")
    assert not staged.exists()
    assert (place.data / "deep" / "down" / "a.tar.gz").read_text() == "x"


def test_an_item_without_outputs_is_done_on_every_run(place: Place) -> None:
    items = [place.item("a", "forget", outputs={})]
    for _ in range(2):
        assert place.run(items).succeeded == 1
        assert place.called() == ["a"]
    assert place.published() == {}


@pytest.mark.parametrize("name", ["a.txt", "a.txt.fp.json"])
def test_a_folder_where_an_output_should_lie_fails_its_item_alone(place: Place, name: str) -> None:
    """Published it cannot be, and one item must not stop the others."""
    (place.data / "loud" / name).mkdir(parents=True)
    outcome = place.run([place.item("a"), place.item("b")])
    assert (outcome.succeeded, outcome.failed) == (1, 1)
    error = place.row("a")["error"]
    assert (error["category"], error["message"]) == (
        "config",
        f"the output 'loud/{name}' cannot be published: a folder has its path",
    )
    assert (place.data / "loud" / name).is_dir()


def test_a_file_where_the_folder_of_an_output_should_lie_fails_its_item_alone(place: Place) -> None:
    place.run([place.item("a", outputs={"loud": "loud"})])
    outcome = place.run([place.item("b", outputs={"loud": "loud/deep/b.txt"}), place.item("c", outputs={"loud": "c"})])
    assert (outcome.succeeded, outcome.failed) == (1, 1)
    message = "the output 'loud/deep/b.txt' cannot be published: one of its parent folders is a file"
    error = place.row("b")["error"]
    assert (error["category"], error["message"], error["retryable"]) == ("config", message, False)
