"""`inorder show`: one document in each of its forms."""

import json
from pathlib import Path

import pytest

from tests.dataset.corpus import make_corpus
from tests.pipeline.folders import FolderRuns
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("DAT-2")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def show(runs: FolderRuns, *arguments: str) -> tuple[int, str, str]:
    return run_in_process(["show", *arguments, "--data", "data"], runs.folder, {})


@pytest.mark.slow
def test_every_form_of_a_document_is_printed(runs: FolderRuns) -> None:
    code, out, _ = show(runs, "page.html")
    assert code == 0
    assert out.startswith("# Rota\n")
    assert out.endswith("| day | who |\n| --- | --- |\n| 1 | a\\|b |\n")
    assert show(runs, "page.html", "--as", "text")[1].endswith("day | who\n1 | a|b\n")
    assert show(runs, "page.html", "--as", "doctags")[1].startswith("<doctag><title>Rota</title>")
    assert json.loads(show(runs, "page.html", "--as", "json")[1])["schema_name"] == "DoclingDocument"
    chunks = show(runs, "docs/note.md", "--as", "chunks")[1]
    assert chunks.startswith("[0]  ")
    assert " tokens  Note\n    Note\n" in chunks


@pytest.mark.parametrize("form", ["text", "markdown", "doctags", "chunks", "json"])
def test_json_is_one_object_with_the_form_in_it(runs: FolderRuns, form: str) -> None:
    found = json.loads(show(runs, "docs/plain.txt", "--as", form, "--json")[1])
    assert {name: found[name] for name in ("doc_id", "name", "mimetype", "pages", "as")} == {
        "doc_id": "docs/plain.txt",
        "name": "plain",
        "mimetype": "text/plain",
        "pages": 0,
        "as": form,
    }
    kinds = {"chunks": list, "json": dict}
    assert isinstance(found["content"], kinds.get(form, str))


def test_a_document_is_found_by_the_path_of_its_source_from_the_current_folder(runs: FolderRuns) -> None:
    assert show(runs, "./docs/plain.txt", "--as", "text")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["docs/nate.md"], "no document 'docs/nate.md' in"),
        (["docs/nate.md"], "; did you mean 'docs/note.md'?"),
        (["note.md", "--as", "pdf"], "--as must be one of markdown, text, doctags, chunks, json; got 'pdf'"),
    ],
)
def test_a_mistake_is_one_line_with_exit_code_2(runs: FolderRuns, arguments: list[str], message: str) -> None:
    code, out, err = show(runs, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.slow
def test_without_data_or_chunks_the_command_to_run_is_named(tmp_path: Path) -> None:
    code, _, err = run_in_process(["show", "a"], tmp_path, {})
    assert (code, "no DATA directory at .inorder; run `inorder run SRC --data DIR` first" in err) == (2, True)
    runs = FolderRuns(tmp_path, commands=("doctags",))
    runs.write("docs/a.txt", "text")
    runs.run()
    code, _, err = show(runs, "a.txt", "--as", "chunks")
    assert (code, "`inorder chunk --data data` has not run" in err) == (2, True)
