"""`inorder plan` and `inorder explain` say what `inorder run` then does with every item of every stage."""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.documents.archives.archive_files import make_archive
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.support.command_line import CommandLine, CommandResult

pytestmark = pytest.mark.req("CLI-7")

Verdicts = dict[tuple[str, str], str]
"""By stage and item."""
STAGES = ("doctags", "chunk", "embed", "index")
COMMENT = "<p>Words of the page.</p><!-- {} -->"


@pytest.fixture
def docs(cli: CommandLine) -> CommandLine:
    """Documents and code of every sort, and one run over them."""
    folder = cli.folder / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# Alpha\n\nThe first document.\n")
    (folder / "b.md").write_text("# Beta\n\nThe second document.\n")
    (folder / "sub" / "c.html").write_text(COMMENT.format("one"))
    (folder / "code.py").write_text("def answer():\n    return 42\n")
    (folder / "empty.txt").write_text("")
    (folder / "picture.bin").write_bytes(bytes(range(256)) * 4)
    (folder / "torn.pdf").write_bytes(b"%PDF-1.4 and no more")
    assert run(cli).code == 3, "the PDF is damaged"
    return cli


def run(cli: CommandLine, *options: str, command: str = "run") -> CommandResult:
    """Run in this process, with threads."""
    sources = ["docs"] if command in ("run", "doctags", "index") else []
    return cli.run_in_process(command, *sources, "--workers", "2", "--policy", "io", "-q", *options)


def predict(cli: CommandLine, *arguments: str) -> Verdicts:
    items = cli.run_in_process("plan", *arguments, "--json").json["items"]
    found = {(item["stage"], item["item_id"]): item["verdict"] for item in items}
    assert len(found) == len(items), "an item is predicted twice"
    return found


def done(cli: CommandLine, stages: tuple[str, ...] = STAGES) -> Verdicts:
    """What the latest run of each stage did, by its manifest."""
    found: Verdicts = {}
    for stage in stages:
        rows = cli.lines(stage)
        start = max(number for number, row in enumerate(rows) if row["status"] == "config")
        found |= {(stage, row["doc_id"]): verdict_of(row) for row in rows[start + 1 :]}
    return found


def verdict_of(row: dict[str, Any]) -> str:
    if row.get("removed") or row["reason"].startswith("it is no longer in the plan"):
        return "remove"
    return {"success": "process", "skip": "skip", "failure": "fail"}[row["status"]]


def assert_true(predicted: Verdicts, actual: Verdicts) -> None:
    """Every item was predicted, no other one, and each verdict was right."""
    assert predicted.keys() == actual.keys()
    wrong = {
        key: (verdict, actual[key])
        for key, verdict in predicted.items()
        if actual[key] not in ({"process", "skip"} if verdict == "depends" else {verdict})
    }
    assert wrong == {}


def edit(docs: Path) -> None:
    (docs / "a.md").write_text("# Alpha\n\nThe first document, edited.\n")
    (docs / "code.py").write_text("def answer():\n    return 43\n")


def edit_comment(docs: Path) -> None:
    (docs / "sub" / "c.html").write_text(COMMENT.format("two"))


def add(docs: Path) -> None:
    (docs / "new.md").write_text("# New\n\nNobody has seen this one.\n")
    (docs / "new.py").write_text("def nothing(): ...\n")
    (docs / "other.7z").write_bytes(b"7z\xbc\xaf" + bytes(90))


def delete(docs: Path) -> None:
    (docs / "b.md").unlink()
    (docs / "code.py").unlink()


def rename(docs: Path) -> None:
    (docs / "b.md").rename(docs / "sub" / "b.md")
    (docs / "code.py").rename(docs / "sub" / "core.py")


def touch(docs: Path) -> None:
    """Not the damaged one: a failure has no hash of its input, so that it fails again would not be known."""
    for path in {*docs.rglob("*.*")} - {docs / "torn.pdf"}:
        os.utime(path, (1_000_000_000, 1_000_000_000))


def make_unreadable(docs: Path) -> None:
    (docs / "a.md").unlink()
    (docs / "a.md").symlink_to("/etc/hostname")


def make_text(docs: Path) -> None:
    """A document becomes something else, something else becomes a document."""
    (docs / "a.md").write_bytes(b"")
    (docs / "empty.txt").write_text("Not any more.")


def everything(docs: Path) -> None:
    for change in (edit, edit_comment, add, touch):
        change(docs)
    (docs / "b.md").rename(docs / "sub" / "b.md")
    (docs / "torn.pdf").write_bytes(draw_pdf(draw_lines("A page at last.")))


CHANGES = [edit, edit_comment, add, delete, rename, touch, make_unreadable, make_text, everything]
OPTIONS = [
    ("--tokens-min", "3"),
    ("--tokens-max", "40"),
    ("--dense", "hash:64"),
    ("--dense", "none"),
    ("--force",),
    ("--no-resume",),
    ("--no-fingerprinting",),
]


@pytest.mark.process
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_changes_that_people_make_are_predicted_item_by_item(
    docs: CommandLine, change: Callable[[Path], None]
) -> None:
    change(docs.folder / "docs")
    predicted = predict(docs, "docs")
    assert predict(docs) == predicted, "the sources of the latest runs are the same"
    run(docs)
    assert_true(predicted, done(docs))
    again = predict(docs, "docs")
    run(docs)
    assert_true(again, done(docs))
    assert set(again.values()) <= {"skip", "fail"}


@pytest.mark.process
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_options_are_predicted_item_by_item_also_together_with_a_change(
    docs: CommandLine, options: tuple[str, ...]
) -> None:
    for change in (touch, edit):
        change(docs.folder / "docs")
        predicted = predict(docs, "docs", *options)
        run(docs, *options)
        assert_true(predicted, done(docs))
    back = predict(docs, "docs")
    run(docs)
    assert_true(back, done(docs))


@pytest.mark.process
def test_an_edit_is_followed_through_all_stages(docs: CommandLine) -> None:
    edit(docs.folder / "docs")
    predicted = predict(docs, "docs")
    assert predicted["doctags", "docs/a.md"] == predicted["chunk", "docs/a.md"] == "process"
    for item in [("embed", "dense/docs/a.md"), ("embed", "__corpus__")]:
        assert predicted[item] == "depends"
    assert predicted["index", "docs/a.md"] == "depends"
    others = {key: verdict for key, verdict in predicted.items() if "a.md" not in key[1] and "__" not in key[1]}
    assert Counter(others.values()) == Counter(skip=14, process=1, fail=1), "only code.py is processed besides"
    run(docs)
    actual = done(docs)
    assert {actual[key] for key, verdict in predicted.items() if verdict == "depends"} == {"process"}


@pytest.mark.process
def test_what_depends_is_skipped_if_its_input_comes_out_the_same(docs: CommandLine) -> None:
    """A comment changes the record of the page, because that has a hash of the file, but not its text."""
    edit_comment(docs.folder / "docs")
    predicted = predict(docs, "docs")
    run(docs)
    actual = done(docs)
    assert predicted["chunk", "docs/sub/c.html"] == actual["chunk", "docs/sub/c.html"] == "process"
    depends = {key for key, verdict in predicted.items() if verdict == "depends"}
    assert {stage for stage, _ in depends} == {"embed", "index"}
    assert {actual[key] for key in depends} == {"skip"}


@pytest.mark.process
def test_an_output_that_was_lost_is_made_again_and_what_follows_depends(docs: CommandLine) -> None:
    for stage, item_id in (("doctags", "docs/a.md"), ("chunk", "docs/b.md")):
        with sqlite3.connect(docs.data / "store" / f"{stage}.sqlite") as connection:
            connection.execute("DELETE FROM items WHERE item_id = ?", (item_id,))
    predicted = predict(docs, "docs")
    assert predicted["chunk", "docs/a.md"] == predicted["index", "docs/b.md"] == "depends"
    assert predicted["embed", "__corpus__"] == "depends"
    run(docs)
    assert_true(predicted, done(docs))


@pytest.mark.process
def test_a_stage_alone_is_predicted_alone(docs: CommandLine) -> None:
    edit(docs.folder / "docs")
    for stage in STAGES:
        predicted = predict(docs, "docs", "--stage", stage)
        assert predicted == predict(docs, "--stage", stage)
        run(docs, command=stage)
        assert_true(predicted, done(docs, (stage,)))


@pytest.mark.process
def test_after_one_stage_alone_the_rest_of_the_way_is_predicted(docs: CommandLine) -> None:
    edit(docs.folder / "docs")
    run(docs, command="doctags")
    (docs.folder / "docs" / "a.md").write_text("# Alpha\n\nThe first document.\n")
    predicted = predict(docs, "docs")
    run(docs)
    actual = done(docs)
    assert_true(predicted, actual)
    assert predicted["chunk", "docs/a.md"] == "depends", "it has chunks of just this document"
    assert actual["chunk", "docs/a.md"] == "skip"


@pytest.mark.process
def test_a_document_that_fails_takes_its_results_along_and_fails_again(docs: CommandLine) -> None:
    (docs.folder / "docs" / "torn.pdf").write_bytes(draw_pdf(draw_lines("A page.")))
    run(docs)
    (docs.folder / "docs" / "torn.pdf").write_bytes(b"%PDF-1.4 torn again")
    predicted = predict(docs, "docs")
    assert predicted["doctags", "docs/torn.pdf"] == "process", "that it fails cannot be known"
    run(docs)
    actual = done(docs)
    of_it = {key for key in predicted if "torn.pdf" in key[1]}
    assert {actual[key] for key in of_it if key[0] == "doctags"} == {"fail"}
    assert {actual[key] for key in of_it if key[0] != "doctags"} == {"remove"}
    assert_true(predict(docs, "docs"), done(docs) if run(docs) else {})


@pytest.mark.process
def test_the_members_of_an_archive_are_predicted_and_explained_one_by_one(docs: CommandLine) -> None:
    for ending in ("zip", "tar.gz"):
        members = {f"{name}.md": f"# {name}\n\nA letter in {ending}.\n".encode() for name in "abc"}
        changed = {"a.md": b"# a\n\nAnother letter.\n", "c.md": members["c.md"], "d.md": members["c.md"]}
        box = docs.folder / "docs" / f"box.{ending}"
        box.write_bytes(make_archive(ending, members))
        run(docs)
        box.write_bytes(make_archive(ending, changed))
        predicted = predict(docs, "docs")
        run(docs)
        assert_true(predicted, done(docs))
        explained = docs.run_in_process("explain", f"docs/box.{ending}/c.md", "--json").json["stages"]
        assert [(each["stage"], each["item_id"]) for each in explained][:2] == [
            ("doctags", f"docs/box.{ending}/c.md"),
            ("chunk", f"docs/box.{ending}/c.md"),
        ]
    box.write_bytes(make_archive("tar.gz", {"torn.pdf": b"%PDF-1.4 torn"}))
    run(docs)
    assert predict(docs, "docs")["doctags", "docs/box.tar.gz/torn.pdf"] == "fail", "nothing has changed"
    assert docs.run_in_process("verify", "--json").code == 0
    hits = docs.run_in_process("search", "another letter", "--json").json
    assert "docs/box.zip/a.md" in str(hits)


@pytest.mark.process
def test_a_long_pdf_is_predicted_with_its_parts(docs: CommandLine) -> None:
    path = docs.folder / "docs" / "long.pdf"
    pages = [f"Page {number} of a long report." for number in range(6)]
    padding = b"%" + b"x" * 300_000 + b"\n"
    path.write_bytes(draw_pdf(*map(draw_lines, pages)) + padding)
    options = ("--split-pages", "2")
    predicted = predict(docs, "docs", *options)
    assert predicted["doctags", "docs/long.pdf#survey"] == predicted["doctags", "docs/long.pdf"] == "process"
    run(docs, *options)
    actual = done(docs)
    parts = {key for key in actual if "long.pdf#0" in key[1]}
    assert len(parts) == 3
    assert predicted.keys() == actual.keys() - parts, "its pages are not counted yet"
    path.write_bytes(draw_pdf(*map(draw_lines, [*pages, "One more."])) + padding)
    predicted = predict(docs, "docs", *options)
    assert {predicted[key] for key in parts} == {"depends"}
    run(docs, *options)
    assert {done(docs)[key] for key in parts} == {"process"}


@pytest.mark.process
@pytest.mark.parametrize("change", [edit, delete, rename, make_unreadable], ids=lambda change: change.__name__)
def test_explain_says_the_same_of_one_file(docs: CommandLine, change: Callable[[Path], None]) -> None:
    change(docs.folder / "docs")
    predicted = predict(docs, "docs")
    explained = 0
    for path in ("docs/a.md", "docs/b.md", "docs/sub/b.md", "docs/code.py"):
        for stage in docs.run_in_process("explain", path, "--json").json["stages"]:
            if stage["verdict"] != "absent":
                explained += 1
                assert stage["verdict"] == predicted[stage["stage"], stage["item_id"]]
    assert explained >= 8


def test_a_prediction_changes_nothing_in_data(docs: CommandLine) -> None:
    everything(docs.folder / "docs")
    before = {path: path.stat().st_mtime_ns for path in docs.data.rglob("*") if "cache" not in path.parts}
    predict(docs, "docs", "--dense", "none")
    docs.run_in_process("explain", "docs/a.md")
    assert {path: path.stat().st_mtime_ns for path in docs.data.rglob("*") if "cache" not in path.parts} == before


def test_a_file_that_is_no_longer_a_document_takes_its_results_along(cli: CommandLine) -> None:
    folder = cli.folder / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("The first document.\n")
    (folder / "b.txt").write_text("The second document.\n")
    assert run(cli).code == 0
    (folder / "a.txt").write_bytes(b"\x89PNG\r\n\x1a\n")
    predicted = predict(cli, "docs")
    run(cli)
    assert_true(predicted, done(cli))
    assert predicted["chunk", "docs/a.txt"] == "remove"
