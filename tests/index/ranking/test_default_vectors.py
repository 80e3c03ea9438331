"""What vectors add to words, with the provider that nobody has to choose."""

from pathlib import Path
from typing import Any

import pytest

from inorder.index.lexical.scoring import LexicalIndex, TermGroup
from inorder.index.ranking import fusion, retrieval
from inorder.index.search import SearchAnswer, SearchOptions, search, use_index
from inorder.library.opening import find_index
from tests.pipeline.folders import FolderRuns

DOCUMENTS = {
    "garage.md": "# Fixing automobiles\n\nReplacing the brakes of an automobile takes two hours.\n",
    "museum.md": "# Medieval painting\n\nThe painters of the fourteenth century used egg and pigment.\n",
    "kitchen.md": "# Soup\n\nBoil the carrots, then add cream.\n",
}
CODE = {
    "first.py": 'def paint_entry(door):\n    """Colour the entry of the house."""\n    door.colour = 1\n',
    "second.py": 'def erase_entry(table):\n    """Remove the entry of the record."""\n    table.pop()\n',
}


@pytest.fixture
def runs(tmp_path: Path) -> FolderRuns:
    runs = FolderRuns(tmp_path)
    for name, text in DOCUMENTS.items():
        runs.write(f"docs/{name}", text)
    runs.run("docs")
    return runs


def ask(runs: FolderRuns, question: str, **options: Any) -> SearchAnswer:
    return search(find_index(str(runs.data)), question, SearchOptions(**options))


@pytest.mark.slow
@pytest.mark.req("SEA-3")
def test_what_has_no_word_in_common_is_found_by_default(runs: FolderRuns) -> None:
    assert ask(runs, "car repair", mode="lexical").hits == []
    answer = ask(runs, "car repair")
    assert answer.mode == "hybrid"
    assert answer.hits[0].item_id == "docs/garage.md"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "dense"])
def test_a_question_that_means_nothing_is_not_answered(runs: FolderRuns, mode: str) -> None:
    assert ask(runs, "xqzwv plugh", mode=mode).hits == []
    assert len(ask(runs, "car repair", mode=mode).hits) == len(DOCUMENTS)


@pytest.mark.slow
@pytest.mark.req("SEA-3")
def test_code_is_ranked_by_vectors_too(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, dense="none")
    for name, text in CODE.items():
        runs.write(f"code/{name}", text)
    runs.run("code")
    names = [hit.name for hit in ask(runs, "delete an entry from a database", only="code").hits]
    assert names == ["erase_entry", "paint_entry"]
    [first, second] = ask(runs, "delete an entry from a database").hits
    assert first.shares["dense"] > second.shares["dense"]
    assert first.score == pytest.approx(sum(first.shares.values()))


@pytest.mark.slow
def test_code_can_be_searched_by_vectors_alone(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, dense="none")
    for name, text in CODE.items():
        runs.write(f"code/{name}", text)
    runs.run("code")
    hits = ask(runs, "delete an entry from a database", mode="dense").hits
    assert [(hit.name, list(hit.ranks)) for hit in hits] == [("erase_entry", ["dense"]), ("paint_entry", ["dense"])]


@pytest.mark.slow
def test_code_has_vectors_also_where_a_model_makes_those_of_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fusion._WEIGHTS, "hash", fusion.MODEL_WEIGHT)  # takes it for a model
    runs = FolderRuns(tmp_path, dense="hash:64")
    runs.write("docs/horn.md", "# Horn\n\nThe horn.\n")
    runs.write("code/first.py", CODE["first.py"])
    runs.run("docs", "code")
    answer = ask(runs, "delete an entry", only="code")
    assert answer.mode_reason == "vectors of code are made by static"
    assert "dense" in answer.hits[0].shares
    assert ask(runs, "delete an entry").mode_reason == "the index has vectors, made by hash:64"


@pytest.mark.slow
def test_vectors_of_a_few_rows_are_those_of_all_rows(runs: FolderRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "brakes painters carrots"
    compared = ask(runs, question).hits
    monkeypatch.setattr(retrieval, "_FEW", 1)
    few = ask(runs, question).hits
    assert [(hit.item_id, hit.shares) for hit in few] == [(hit.item_id, hit.shares) for hit in compared]


@pytest.mark.slow
def test_the_headings_of_code_do_not_raise_it_above_documents(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path)
    runs.write("docs/horn.md", "# Start the horn\n\nStart the fog horn when the fog comes. Start it early.\n")
    runs.write("code/fog/horn.py", "def start_horn():\n    return 1\n")
    runs.run("docs", "code")
    hits = ask(runs, "when should the fog horn be started").hits
    assert [hit.file_kind for hit in hits] == ["document", "code"]


@pytest.mark.slow
def test_a_word_is_looked_up_in_each_segment_and_not_in_all_terms(runs: FolderRuns) -> None:
    with use_index(find_index(str(runs.data))) as index:
        statements: list[str] = []
        index.connection.set_trace_callback(statements.append)
        assert LexicalIndex(index.connection).has_any(TermGroup(("carrot",)))
        index.connection.set_trace_callback(None)
        [plan] = [
            [row[-1] for row in index.connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
            for statement in statements
            if "data FROM" in statement
        ]
    assert any(step.startswith("SEARCH term_blocks") for step in plan)
    assert not any(step.startswith("SCAN term_blocks") for step in plan)
