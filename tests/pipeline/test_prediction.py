"""What is predicted for a run is what the run then does, file by file and in its counts."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inorder.documents.chunk.settings import ChunkSettings
from inorder.library.reader import LibraryReader
from inorder.pipeline.outcome import RunOutcome
from inorder.pipeline.questions.prediction import FileForecast, Prediction
from inorder.pipeline.steps import PipelineSettings
from tests.documents.archives.archive_files import make_archive
from tests.documents.pdf_files import draw_lines, draw_pdf

from .runs import Library, write

pytestmark = [pytest.mark.req("CLI-7", "PIP-5"), pytest.mark.slow]

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"
PAGE = "<p>Words of the page.</p><!-- {0} -->"
PNG = b"\x89PNG\r\n\x1a\n0000"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Files of every sort."""
    root = tmp_path / "docs"
    write(root, **{f"{name}.md": NOTE.format(name) for name in ("ash", "birch", "cedar", "elm", "fir")})
    write(root, **{"copy.md": NOTE.format("ash"), "sub/page.html": PAGE.format("one"), "tool.py": "def light(): ...\n"})
    write(root, **{"torn.pdf": b"%PDF-1.4 and no more", "photo.png": PNG, "empty.txt": "", "skip/me.md": "# No\n"})
    write(root, **{"data.bin": bytes(range(256)) * 4, ".inorderignore": "skip/\n"})
    members = {"a.md": b"# A\n\nA letter.\n", "b.md": b"# B\n\nAnother.\n", "torn.pdf": b"%PDF-1.4 torn"}
    write(root, **{"box.zip": make_archive("zip", members)})
    return root


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Library:
    made = Library(tmp_path / "data")
    made.run(docs)
    return made


def predict(library: Library, *sources: Path, **rules: bool) -> tuple[dict[str, FileForecast], RunOutcome]:
    prediction = Prediction([str(each) for each in sources], library.settings, data=str(library.data), **rules)
    found = list(prediction)
    by_id = {each.item_id: each for each in found}
    assert len(by_id) == len(found), "a file is predicted twice"
    return by_id, prediction.outcome


def read_runs(library: Library) -> dict[tuple[str, str], str]:
    """The run that each step of each file last ran in."""
    with closing(LibraryReader(str(library.data))) as reader:
        files = list(reader.list_files())
        return {(file.item_id, each.step): each.run_id for file in files for each in reader.read_details(file.item_id)}


def assert_true(library: Library, *sources: Path, **rules: bool) -> dict[str, FileForecast]:
    """Predict, run, and compare."""
    predicted, foreseen = predict(library, *sources, **rules)
    before = read_runs(library) if (library.data / "library.sqlite").exists() else {}
    outcome = library.run(*sources, **rules)
    assert foreseen.counts == outcome.counts
    assert foreseen.not_read == outcome.not_read
    after = read_runs(library)
    ran = {key for key, run in after.items() if before.get(key) != run}
    planned = {(each.item_id, step.step): step.verdict for each in predicted.values() for step in each.steps}
    archives = {key for key in ran if key[0].endswith(".zip")}  # which are listed, not read
    assert ran - archives <= planned.keys(), "a step ran that was not predicted"
    certain = {key for key, verdict in planned.items() if verdict == "process"}
    assert certain <= ran, "a step did not run"
    return predicted


def edit(docs: Path) -> None:
    write(docs, **{"birch.md": NOTE.format("birch, edited"), "tool.py": "def dim(): ...\n"})


def edit_comment(docs: Path) -> None:
    write(docs, **{"sub/page.html": PAGE.format("two")})


def add(docs: Path) -> None:
    write(docs, **{"new.md": NOTE.format("new"), "new.py": "x = 1\n", "other.png": PNG, "again.md": NOTE.format("elm")})
    write(docs, **{"more.zip": make_archive("zip", {"c.md": b"# C\n\nA third letter.\n"})})


def delete(docs: Path) -> None:
    for name in ("birch.md", "tool.py", "box.zip", "photo.png", "torn.pdf"):
        (docs / name).unlink()


def delete_original(docs: Path) -> None:
    (docs / "ash.md").unlink()


def rename(docs: Path) -> None:
    (docs / "birch.md").rename(docs / "sub" / "birch.md")
    (docs / "tool.py").rename(docs / "sub" / "tool.py")


def touch(docs: Path) -> None:
    for path in docs.rglob("*.*"):
        os.utime(path, (10**9, 10**9))


def make_unreadable(docs: Path) -> None:
    (docs / "birch.md").unlink()
    (docs / "birch.md").symlink_to("/etc/hostname")


def exchange(docs: Path) -> None:
    """A document becomes something else, something else becomes a document."""
    write(docs, **{"birch.md": b"", "empty.txt": "Not any more.\n", "data.bin": "x = 1\n", "cedar.md": PNG})


def ignore(docs: Path) -> None:
    write(docs, **{".inorderignore": "cedar.md\n"})


def ignore_code(docs: Path) -> None:
    write(docs, **{".gitignore": "*.py\n*.bin\n"})


def change_members(docs: Path) -> None:
    members = {"a.md": b"# A\n\nA letter, edited.\n", "c.md": b"# C\n\nNew.\n", "torn.pdf": b"%PDF-1.4 torn"}
    write(docs, **{"box.zip": make_archive("zip", members)})


def mend(docs: Path) -> None:
    write(docs, **{"torn.pdf": draw_pdf(draw_lines("A page at last."))})


def everything(docs: Path) -> None:
    for change in (touch, edit, edit_comment, add, rename_elm, make_unreadable, change_members, ignore, mend):
        change(docs)


def rename_elm(docs: Path) -> None:
    (docs / "fir.md").rename(docs / "sub" / "fir.md")


CHANGES = [
    edit,
    edit_comment,
    add,
    delete,
    delete_original,
    rename,
    touch,
    make_unreadable,
    exchange,
    ignore,
    ignore_code,
    change_members,
    mend,
    everything,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_changes_that_people_make_are_predicted(
    library: Library, docs: Path, change: Callable[[Path], None]
) -> None:
    change(docs)
    assert_true(library, docs)
    again, foreseen = predict(library)
    assert {each.file_class for each in again.values()} <= {"failed"}
    assert foreseen.counts == library.run(docs).counts


def test_a_copy_that_becomes_the_document_is_counted_once(library: Library, docs: Path) -> None:
    files = predict(library)[1].counts.files
    delete_original(docs)
    predicted, foreseen = predict(library, docs)
    assert predicted["docs/copy.md"].file_class == "changed"
    assert (foreseen.counts.changed, foreseen.counts.copies, foreseen.counts.removed) == (1, 0, 1)
    assert library.run(docs).counts.files == foreseen.counts.files == files - 1


def test_a_first_run_is_predicted_and_nothing_is_made(tmp_path: Path, docs: Path) -> None:
    library = Library(tmp_path / "later")
    predicted, _ = predict(library, docs)
    assert not library.data.exists()
    assert [each.step for each in predicted["docs/ash.md"].steps] == ["doctags", "chunk", "index", "embed:dense"]
    assert predicted["docs/copy.md"].copy_of == "docs/ash.md"
    assert predicted["docs/photo.png"].reason == "an image: --ocr reads its text"
    assert "docs/skip/me.md" not in predicted
    outcome = library.run(docs)
    _, foreseen = predict(Library(tmp_path / "other"), docs)
    assert foreseen.counts.new == outcome.counts.new + outcome.counts.failed, "that files are damaged cannot be known"


@pytest.mark.parametrize(
    ("settings", "step", "part"),
    [
        ({"chunk": ChunkSettings(tokens_max=40)}, "chunk", "tokens_max"),
        ({"dense": "hash:64"}, "embed:dense", "provider"),
    ],
)
def test_changed_settings_are_predicted_with_the_part_that_changed(
    library: Library, docs: Path, settings: dict[str, object], step: str, part: str
) -> None:
    library.settings = PipelineSettings(**settings)  # type: ignore[arg-type]
    predicted = assert_true(library, docs)
    steps = {each.step: each for each in predicted["docs/birch.md"].steps}
    assert steps[step].verdict == "process"
    assert part in steps[step].changed
    assert steps[step].reason == f"its settings have changed: {', '.join(steps[step].changed)}"
    if step == "chunk":
        assert {name: each.reason for name, each in steps.items() if name != "chunk"} == {
            "index": "if the chunks change",
            "embed:dense": "if the chunks change",
        }


def test_steps_that_depend_on_a_result_are_said_to(library: Library, docs: Path) -> None:
    edit_comment(docs)
    predicted = assert_true(library, docs)
    assert predicted["docs/sub/page.html"].describe() == (
        "doctags: the content has changed; chunk: if the document changes; index, embed:dense: if the chunks change"
    )


def test_a_file_that_failed_is_not_tried_again_unless_it_is_asked_for(library: Library, docs: Path) -> None:
    predicted, _ = predict(library, docs)
    assert predicted.keys() == {"docs/torn.pdf", "docs/box.zip/torn.pdf"}
    assert predicted["docs/torn.pdf"].reason.startswith("it failed before, and is not tried again until it changes: ")
    predicted, _ = predict(library, docs, retries=True)
    assert predicted["docs/torn.pdf"].describe().startswith("doctags: it failed before: doctags: ")


def test_everything_is_predicted_if_it_is_forced(library: Library, docs: Path) -> None:
    predicted, _ = predict(library, docs, force=True)
    assert {step.reason for step in predicted["docs/ash.md"].steps} == {"all steps are asked for"}
    library.run(docs, force=True)


def test_a_source_that_is_not_there_is_told_of_and_its_files_stay(library: Library, docs: Path) -> None:
    docs.rename(docs.with_name("away"))
    predicted, foreseen = predict(library)
    assert predicted == {}
    assert foreseen.notes == [f"the source docs is not there: {docs}; its files stay"]


def test_a_prediction_writes_nothing(library: Library, docs: Path) -> None:
    everything(docs)
    before = {path: path.read_bytes() for path in library.data.rglob("*") if path.is_file()}
    with sqlite3.connect(library.data / "library.sqlite") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    os.chmod(library.data, 0o500)
    try:
        predict(library, docs)
    finally:
        os.chmod(library.data, 0o700)
    assert {path: path.read_bytes() for path in library.data.rglob("*") if path.is_file()} == before
