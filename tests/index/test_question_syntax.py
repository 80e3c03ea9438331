"""What signs in a short question mean: phrases, words to leave out, beginnings of words, and words with signs."""

from pathlib import Path
from typing import Any

import pytest

from inorder.index.query import parse_query
from inorder.index.search import SearchAnswer, SearchOptions, search
from inorder.library.opening import find_index
from inorder.library.whole.verify import verify_library
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("SEA-1")
NOTES = {
    "order": "The horn of fog is sounded before the lamp is lit.",
    "phrase": "The lamp was trimmed while the fog horn was heard across the whole bay by everyone who listened.",
    "keeper": "A lamp keeper trims wicks.",
    "interferon": "Cells released IFN-\u03b3 after two hours of exposure.",
    "cplus": "The driver is written in C++ and nothing else of it is known to anyone here at the station.",
    "c": "The C compiler. C and C again; a C program in C.",
    "att": "A bill came from AT&T in the spring.",
    "tea": "T stands for tea, T for towel and T for tower.",
    "distance": "The reef lies 10km off the coast, and no chart of it is older than the tower that stands on it.",
    "form": "The 10-K of the company was filed late, as the tables of the appendix and all of the notes show.",
    "letters": "Row 10 has K. Row 10 has K again. K 10.",
    "apart": "From the reef to the harbour it is a way of 12 km, and 4,500 crowns were paid for the survey of it.",
    "together": "The stream runs 12km inland. It took 4500 crowns to dredge it.",
    "depths": "Soundings: 140,250,360 and 4 500.",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    runs = FolderRuns(tmp_path_factory.mktemp("syntax"), dense="none")
    for name, text in NOTES.items():
        runs.write(f"docs/{name}.md", f"{text}\n")
    runs.run("docs")
    return runs


def ask(runs: FolderRuns, question: str, **options: Any) -> SearchAnswer:
    return search(find_index(str(runs.data)), question, SearchOptions(**options))


def list_names(answer: SearchAnswer) -> list[str]:
    return [hit.item_id.removeprefix("docs/").removesuffix(".md") for hit in answer.hits]


def test_a_phrase_in_quotes_is_found_word_by_word(runs: FolderRuns) -> None:
    assert set(list_names(ask(runs, "fog horn"))) == {"order", "phrase"}
    assert list_names(ask(runs, '"Fog  Horn" lamp')) == ["phrase"]


def test_without_a_text_that_has_the_phrase_its_words_are_searched_for_with_a_warning(runs: FolderRuns) -> None:
    answer = ask(runs, '"horn fog"')
    assert set(list_names(answer)) == {"order", "phrase"}
    assert list(answer.warnings) == ['no text has "horn fog": its words were searched for']


def test_a_word_after_a_minus_sign_is_left_out(runs: FolderRuns) -> None:
    assert set(list_names(ask(runs, "lamp"))) == {"order", "phrase", "keeper"}
    assert list_names(ask(runs, "lamp -horn")) == ["keeper"]
    command = ("search", "--data", str(runs.data), "lamp -horn")
    _, out, _ = run_in_process(command, runs.folder, clean_environment())
    assert "keeper.md" in out
    assert "phrase.md" not in out


@pytest.mark.parametrize(
    ("question", "excluded"),
    [
        ("tar -xz archive", ()),
        ("find --name lamp", ()),
        ("fog-horn", ()),
        ("-horn", ()),
        ("lamp - horn", ()),
        ("lamp -horn", ("horn",)),
        ("x" * 300 + " -horn", ()),
    ],
)
def test_only_a_word_of_a_short_question_is_left_out(question: str, excluded: tuple[str, ...]) -> None:
    assert parse_query(question).excluded == excluded


def test_an_asterisk_stands_for_the_rest_of_a_word(runs: FolderRuns) -> None:
    assert list_names(ask(runs, "trim* listened")) == ["phrase", "keeper"]
    assert list_names(ask(runs, "keep*")) == ["keeper"]
    assert list_names(ask(runs, "lis*")) == ["phrase"]


def test_a_misspelt_word_finds_the_most_similar_one_only_if_nothing_else_matches(runs: FolderRuns) -> None:
    assert list_names(ask(runs, "keepre")) == ["keeper"]
    assert set(list_names(ask(runs, "keepre fog"))) == {"order", "phrase"}
    assert list_names(ask(runs, "zzzqqqxx")) == []


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("IFN-gamma", "interferon"),
        ("IFN-\u03b3", "interferon"),
        ("gamma release", "interferon"),
        ("C++", "cplus"),
        ("AT&T", "att"),
        ("10-K", "form"),
        ("10km", "distance"),
        ("10 km", "distance"),
        ("stream 12 km", "together"),
        ("survey 4500", "apart"),
        ("dredge 4,500", "together"),
        ("250", "depths"),
    ],
)
def test_words_with_signs_are_found_as_they_are_written(runs: FolderRuns, question: str, first: str) -> None:
    assert list_names(ask(runs, question))[0] == first


@pytest.mark.parametrize("question", ["12km", "12 km", "4,500", "4500", '"4,500 crowns"', '"4500 crowns"'])
def test_a_number_is_the_same_with_commas_and_beside_its_unit(runs: FolderRuns, question: str) -> None:
    assert set(list_names(ask(runs, question))[:2]) == {"apart", "together"}


def test_a_number_with_commas_is_marked_as_a_whole(runs: FolderRuns) -> None:
    answer = ask(runs, "4500")
    hit = next(hit for hit in answer.hits if hit.item_id == "docs/apart.md")
    [line] = [line for line in answer.make_snippet(hit) if line.is_best]
    assert [line.text[start:end] for start, end in line.marks] == ["4,500"]


def test_a_library_of_an_older_analysis_gets_the_terms_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = FolderRuns(tmp_path, dense="none")
    own.write("docs/survey.md", "The survey cost 4,500 crowns.\n")
    with monkeypatch.context() as older:
        older.setattr("inorder.index.lexical.terms.add_joined_digits", str)
        for module in ("rows", "step"):
            older.setattr(f"inorder.index.{module}.ANALYSIS_VERSION", 1)
        own.run("docs")
        assert list_names(ask(own, "4500")) == []
    own.run("docs")
    assert list_names(ask(own, "4500")) == ["survey"]
    assert [str(finding) for finding in verify_library(str(own.data))] == []
