"""Results in stores: in a number of files that does not grow with the documents."""

import sqlite3
from pathlib import Path

import pytest

import inorder
from inorder.documents.layout import list_chunked, list_vectors
from inorder.stage.store.database import close_readers, open_store, store_path
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

STAGES = ("doctags", "chunk", "embed")


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    made = StageRuns(tmp_path)
    made.write("docs/note.md", "# Note\n\n" + PROSE * 40)
    made.write("docs/deep/page.html", f"<h1>Rota</h1><p>{PROSE}</p><table><tr><th>a</th><td>1</td></tr></table>")
    made.write("docs/plain.txt", PROSE)
    return made


def run_all(runs: StageRuns) -> list[inorder.StageOutcome]:
    return [
        runs.doctags(),
        runs.chunk(tokens_max=100),
        runs.embed(dense="hash:16"),
        runs.index(),
    ]


@pytest.mark.req("DAT-1")
def test_the_number_of_files_does_not_grow_with_the_documents(runs: StageRuns) -> None:
    run_all(runs)
    before = {path.relative_to(runs.data) for path in runs.data.rglob("*") if path.is_file()}
    for number in range(50):
        runs.write(f"docs/more/{number}.txt", f"{number} {PROSE}")
    run_all(runs)
    after = {path.relative_to(runs.data) for path in runs.data.rglob("*") if path.is_file()}
    new = {path.parts[0] for path in after - before}
    assert len(after) - len(before) < 10
    assert new <= {"cache", "telemetry", "index.vectors"} | {
        path.name for path in after if path.name.startswith("index.")
    }
    assert not {"doctags", "chunks", "vectors"} & {path.parts[0] for path in after}


@pytest.mark.req("DAT-1", "RUN-4")
def test_an_unchanged_document_is_skipped_and_a_changed_one_done_again(runs: StageRuns) -> None:
    run_all(runs)
    again = run_all(runs)
    assert [outcome.succeeded for outcome in again] == [0, 0, 0, 0]
    runs.write("docs/plain.txt", "other words\n")
    run_all(runs)
    assert runs.done("doctags") == {"docs/plain.txt"}
    assert runs.done("chunk") == {"docs/plain.txt"}
    assert runs.done("embed") == {"dense/docs/plain.txt", "__corpus__"}
    assert runs.done("index") == {"docs/plain.txt"}
    skipped = runs.rows("chunk")["docs/note.md"]
    assert (skipped["status"], skipped["chunks_format"]) == ("skip", "store")
    assert skipped["chunks"] > 1


@pytest.mark.req("DAT-1")
def test_the_rows_of_a_removed_or_broken_document_are_removed(runs: StageRuns) -> None:
    run_all(runs)
    (runs.docs / "plain.txt").unlink()
    runs.write("docs/deep/page.html", "")
    run_all(runs)
    assert {result.doc_id for result in list_chunked(runs.data)} == {"docs/note.md"}
    assert {result.doc_id for result in list_vectors(runs.data, "dense")} == {"docs/note.md"}
    assert runs.rows("chunk")["docs/plain.txt"]["reason"].startswith("it is no longer in the plan")


@pytest.mark.req("DAT-1")
def test_a_setting_makes_only_what_depends_on_it_again(runs: StageRuns) -> None:
    run_all(runs)
    runs.embed(dense="hash:8")
    assert runs.done("embed") == {f"dense/docs/{name}" for name in ("note.md", "plain.txt", "deep/page.html")} | {
        "__corpus__"
    }


@pytest.mark.req("DAT-1")
def test_a_damaged_store_is_refused_and_says_what_to_do(runs: StageRuns) -> None:
    run_all(runs)
    close_readers()
    path = Path(store_path(str(runs.data), "doctags"))
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(
        inorder.IntegrityError, match=r"doctags\.sqlite: table `items` is damaged \(.*\); remove the file and run the"
    ):
        runs.doctags()


@pytest.mark.req("DAT-1")
def test_content_that_was_altered_is_refused(runs: StageRuns) -> None:
    run_all(runs)
    path = store_path(str(runs.data), "chunk")
    close_readers()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE items SET content = x'00', codec = 0")
    store = open_store(str(runs.data), "chunk")
    assert store is not None
    with pytest.raises(inorder.IntegrityError, match=r"table `items`, 'docs/note.md': a stored result has 1 bytes"):
        store.read("docs/note.md")
