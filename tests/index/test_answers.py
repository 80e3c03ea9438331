"""What an answer shows: where it is, the words that match, copies, suggestions, and how it was searched."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from inorder.errors import OperatorError
from inorder.index.hits import Hit
from inorder.index.lexical.scoring import TermGroup
from inorder.index.query import parse_query
from inorder.index.ranking.snippets import make_snippet
from inorder.index.search import SearchAnswer, SearchOptions, search
from inorder.library.opening import find_index
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

PROSE = """# Signals

Ships need warnings. The fog horn sounds every ninety seconds! In clear weather the lamp is enough. It turns slowly.
Nothing else moves. The keeper sleeps.
"""
CODE = "def sound_horn():\n    wait()\n    blow_air()\n    return True\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    """A document, a program in two copies, and vectors."""
    runs = FolderRuns(tmp_path_factory.mktemp("answers"))
    runs.write("docs/signals.md", PROSE)
    runs.write("code/horn.py", CODE)
    runs.write("code/old/horn.py", CODE)
    runs.run("docs", "code")
    return runs


def ask(runs: FolderRuns, question: str, **options: Any) -> SearchAnswer:
    return search(find_index(str(runs.data)), question, SearchOptions(**options))


def call(runs: FolderRuns, *arguments: str) -> tuple[int, str, str]:
    return run_in_process(("search", "--data", str(runs.data), *arguments), runs.folder, clean_environment())


def make_hit(text: str, **values: Any) -> Hit:
    fields = {
        "chunk_id": "c",
        "item_id": "a/b",
        "path": "b",
        "file_kind": "document",
        "language": "en",
        "kind": "section",
    }
    fields |= {"name": "", "context": "", "start": 1, "end": 9, "number": 0, "pages": [], "text": text}
    return Hit(**(fields | values))


def marked(text: str, *forms: str, **values: Any) -> list[str]:
    """The marked pieces of a snippet."""
    lines = make_snippet(make_hit(text, **values), [TermGroup((form,)) for form in forms])
    return [line.text[start:end] for line in lines for start, end in line.marks]


# ---- where it is


def test_a_location_opens_code_at_the_line_and_pdf_at_the_page() -> None:
    assert make_hit("x", file_kind="code", path="a.py", start=7).locate() == "a.py:7"
    assert make_hit("x", file_kind="code", path="a.py", start=7).locate(9) == "a.py:9"
    assert make_hit("x", path="a.PDF", pages=[3, 4]).locate() == "a.PDF#page=3"
    assert make_hit("x", path="a.pdf").locate() == "a.pdf"
    assert make_hit("x", path="a.md", pages=[3]).locate() == "a.md"


@pytest.mark.slow
def test_paths_open_from_the_current_folder(runs: FolderRuns) -> None:
    _, out, _ = call(runs, "air", "-k", "1")
    assert out.startswith("code/horn.py:3  function sound_horn  (rank 1, score 1.15)\n    also in code/old/horn.py\n")


# ---- the words that match


@pytest.mark.slow
def test_the_sentences_with_the_most_words_are_shown_with_context(runs: FolderRuns) -> None:
    answer = ask(runs, "how often does the horn sound in fog", only="document")
    [hit] = answer.hits
    lines = answer.make_snippet(hit)
    assert len(lines) == 3
    [best] = [line for line in lines if line.is_best]
    assert best.text == "The fog horn sounds every ninety seconds!"
    assert [best.text[start:end] for start, end in best.marks] == ["fog", "horn", "sounds"]
    assert [line.text for line in answer.make_snippet(hit, 0)] == [best.text]
    assert len(answer.make_snippet(hit, 50)) == 7


def test_words_are_marked_in_the_form_that_the_text_has() -> None:
    assert marked("Horns and a Lamp. HORN", "horn") == ["Horns", "HORN"]
    assert marked("die Häuser am Meer", "haus", language="de") == ["Häuser"]
    assert marked("call parseHTTPHeader now", "header", file_kind="code", language="python") == ["parseHTTPHeader"]
    assert marked("黑豹队的防守只丢了三分", "防守", "豹队", language="zh") == ["豹队", "防守"]
    assert marked("nothing here", "horn") == []


def test_marks_of_overlapping_runs_are_one() -> None:
    assert marked("黑豹队的", "黑豹", "豹队", language="zh") == ["黑豹队"]


def test_a_character_that_begins_a_run_is_marked() -> None:
    [line] = make_snippet(make_hit("大海岸", language="zh"), [TermGroup(("海",), is_prefix=True)])
    assert line.marks == [(1, 2)]


def test_an_empty_chunk_has_no_snippet() -> None:
    assert make_snippet(make_hit(""), [TermGroup(("horn",))]) == []


# ---- copies, suggestions


def test_the_same_chunk_of_two_files_is_shown_once(runs: FolderRuns) -> None:
    hits = ask(runs, "sound_horn", mode="lexical", only="code").hits
    assert [(hit.item_id, hit.copies) for hit in hits] == [("code/horn.py", ["code/old/horn.py"])]


def test_a_word_that_nothing_has_gets_a_suggestion_also_if_others_are_found(runs: FolderRuns) -> None:
    answer = ask(runs, "keepr of the lamp")
    assert answer.hits
    assert answer.suggestions == ["keeper"]
    assert ask(runs, "keeper of the lamp").suggestions == []


# ---- how it was searched


@pytest.mark.parametrize(
    ("question", "options", "mode", "reason"),
    [
        ("how often does it sound", {}, "hybrid", "the index has vectors, made by static"),
        ("horn", {}, "hybrid", "the index has vectors, made by static"),
        ("sound_horn", {}, "lexical", "the question is a name"),
        ("Horn.sound", {}, "lexical", "the question is a name"),
        ("霧笛はいつ鳴るか horn", {}, "lexical", "the vectors of static know no words of this script"),
        ("horn", {"mode": "lexical"}, "lexical", "asked for"),
        ("def:sound_horn", {}, "names", "the question is a lookup by name"),
    ],
)
def test_the_mode_is_chosen_by_the_question_and_the_index(
    runs: FolderRuns, question: str, options: dict[str, Any], mode: str, reason: str
) -> None:
    answer = ask(runs, question, **options)
    assert (answer.mode, answer.mode_reason) == (mode, reason)


@pytest.mark.slow
def test_vectors_of_code_are_made_during_the_search(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, dense="none")
    runs.write("code/horn.py", CODE)
    runs.run("code")
    answer = ask(runs, "wait for the air")
    assert (answer.mode, answer.mode_reason) == ("hybrid", "vectors of code are made by static")
    assert answer.warnings == []


def test_without_vectors_words_are_searched(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, dense="none")
    runs.write("docs/horn.md", "# Horn\n\nWait for the air.\n")
    runs.run("docs")
    answer = ask(runs, "wait for the air")
    assert (answer.mode, answer.mode_reason) == ("lexical", "the index has no vectors")
    assert answer.warnings == []


def test_explain_says_in_words_what_the_score_is_made_of(runs: FolderRuns) -> None:
    _, out, _ = call(runs, "sound_horn", "--explain")
    mode, _, _, score, reasons, *_ = out.splitlines()
    assert mode == "searched by words: the question is a name; language of the question: en"
    assert score.startswith("    score ")
    assert "= words " in score
    assert reasons.startswith("    names and paths: defines sound_horn: x3; path has horn")


# ---- nothing in a question is syntax

HOSTILE = {
    "quote": '"',
    "operators": "lamp AND NOT (horn OR fog) NEAR/3 keeper*",
    "column": "text:horn OR -name:x",
    "parentheses": "(((",
    "sql": "'; DROP TABLE chunks; --",
    "many words": "lamp horn fog keeper weather " * 2000,
    "one long word": "lamp" * 10_000,
    "punctuation": "?!.,;:-_()[]{}<>/\\|@#$%^&*+=~`'\"",
    "percent": "% _ %",
    "NUL": "horn\0lamp",
    "only NUL": "\0\0",
    "lone surrogate": "horn \ud800 \udfff",
    "only a lone surrogate": "\udc80",
    "control characters": "horn\x1b[31m\x07\x7f",
    "byte order": "\ufeffhorn\u202e\u2066",
    "prefix and NUL": "def:\0",
    "prefix and surrogate": "sym:\ud800",
    "prefix and SQL": "ref:x'; DROP TABLE calls; --",
    "emoji": "🔦 horn 👩‍👩‍👧",
    "combining marks": "h\u0301\u0302\u0303" * 500,
    "glob": "imports:*[?]",
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "lexical", "dense"])
@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_no_character_of_a_question_is_syntax(runs: FolderRuns, question: str, mode: str) -> None:
    with contextlib.suppress(OperatorError):
        assert len(ask(runs, question, mode=mode).hits) <= 10
    with contextlib.suppress(OperatorError):
        ask(runs, "horn", mode=mode, path=question, language=question, kind=question)
    assert ask(runs, "horn", mode="lexical").hits


@pytest.mark.slow
@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_the_command_gives_an_answer_or_one_line(runs: FolderRuns, question: str) -> None:
    for flag in ((), ("--json",), ("--explain",)):
        code, out, err = call(runs, question, *flag)
        assert code in (0, 2, 3), err
        assert len(err.splitlines()) <= 2
        if flag == ("--json",) and code != 2:
            assert json.loads(out)["mode"]


def test_words_around_hostile_characters_are_found(runs: FolderRuns) -> None:
    for name in ("operators", "NUL", "lone surrogate", "control characters", "byte order", "emoji"):
        assert ask(runs, HOSTILE[name], mode="lexical").hits, name
    found = {form for group in parse_query(HOSTILE["many words"]).make_groups() for form in group.forms}
    assert {"lamp", "horn", "fog", "keeper", "weather"} <= found
