"""What a search makes of a question: repeated words, its length, and its language."""

import json
import time
from typing import Any

import pytest

from inorder.index.lexical.languages import detect_language, detect_question_language
from inorder.index.query import CHARACTERS_MAX
from inorder.index.search import SearchAnswer, SearchOptions, search
from inorder.library.opening import find_index
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("SEA-1")

ENGLISH = "The keeper opens the {} of the tower in the morning, and it is the one that leads to the lamp."
DUTCH = "De wachter van de toren gaat door de mist naar huis, en het licht is niet uit, maar het wordt dag."


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    """Notes in English, and one in Dutch."""
    runs = FolderRuns(tmp_path_factory.mktemp("questions"), dense="none")
    for number, word in enumerate(("door", "window", "hatch", "gate", "cellar", "gallery", "roof", "shutter")):
        runs.write(f"docs/{number}-note.md", f"{ENGLISH.format(word)}\n")
    runs.write("docs/dutch.md", f"{DUTCH}\n")
    runs.write("docs/mixed.md", "Signal signal lamp.\n")
    runs.run("docs")
    return runs


def ask(runs: FolderRuns, question: str, **options: Any) -> SearchAnswer:
    return search(find_index(str(runs.data)), question, SearchOptions(**options))


def test_a_word_that_the_question_repeats_weighs_more(runs: FolderRuns) -> None:
    once, twice = ask(runs, "window hatch"), ask(runs, "window hatch hatch")
    scores = [{hit.item_id: hit.score for hit in answer.hits} for answer in (once, twice)]
    assert scores[0]["docs/1-note.md"] == pytest.approx(scores[0]["docs/2-note.md"])
    assert scores[1]["docs/2-note.md"] == pytest.approx(2**0.5 * scores[1]["docs/1-note.md"])


def test_the_last_words_of_a_long_question_are_searched_for(runs: FolderRuns) -> None:
    filling = " ".join(f"w{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(150))
    assert ask(runs, f"{filling} shutter").hits[0].item_id == "docs/7-note.md"


def test_one_note_in_another_language_takes_no_word_out_of_a_question(runs: FolderRuns) -> None:
    answer = ask(runs, "where is the door")
    assert answer.language == "en"
    assert answer.hits[0].item_id == "docs/0-note.md"
    assert ["door"] in [list(group.forms) for group in answer.groups]


def test_a_question_in_the_language_of_one_note_is_told_by_its_words(runs: FolderRuns) -> None:
    answer = ask(runs, "gaat de wachter door het licht naar huis")
    assert answer.language == "nl"
    assert answer.hits[0].item_id == "docs/dutch.md"
    assert "door" not in [form for group in answer.groups for form in group.forms]


def test_explain_and_json_name_the_language_of_the_question(runs: FolderRuns) -> None:
    command = ("search", "--data", str(runs.data), "what is the gallery for")
    _, out, _ = run_in_process((*command, "--explain"), runs.folder, clean_environment())
    assert out.splitlines()[0].endswith("; language of the question: en")
    _, out, _ = run_in_process((*command, "--json"), runs.folder, clean_environment())
    assert json.loads(out)["language"] == "en"


@pytest.mark.parametrize(
    ("question", "counts", "expected"),
    [
        ("open door", {"en": 1, "nl": 1}, ""),
        ("open door", {"en": 1000, "nl": 1}, "en"),
        ("open the door", {"en": 8, "nl": 1}, ""),
        ("wie geht es der Wache auf dem Turm", {"en": 1000, "de": 1}, "de"),
        ("what is on the tower", {"de": 50}, ""),
        ("кто стоит на башне", {"en": 5, "ru": 5}, "ru"),
        ("灯塔", {"en": 5, "zh": 1}, "zh"),
        ("灯塔", {"en": 5}, ""),
    ],
)
def test_the_language_of_a_question_is_one_of_the_index_or_unknown(
    question: str, counts: dict[str, int], expected: str
) -> None:
    assert detect_question_language(question, counts) == expected


@pytest.mark.parametrize(
    "title", ["An algorithm for numbers in a table", "Notes on a theory for wings", "Flow in pipes"]
)
def test_an_english_title_is_not_taken_for_danish_or_german(title: str) -> None:
    assert detect_language(title) in ("", "en")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["lamp{} ", "灯塔{}", "x", "lamp_{}Name(x.y) ", "\u0301", "door "])
def test_a_question_of_a_megabyte_is_answered_in_time(runs: FolderRuns, word: str) -> None:
    question = f"lamp {''.join(word.format(number) for number in range(1_000_000 // len(word)))}"
    ask(runs, "lamp")
    took = []
    for attempt in range(3):
        began_s = time.process_time()
        answer = ask(runs, f"{attempt}{question}")
        took.append(time.process_time() - began_s)
    assert min(took) < 0.2
    assert answer.query.text == f"2{question}"[:CHARACTERS_MAX]
    [warning] = answer.warnings
    assert warning.endswith("characters of the question, 20,000 were searched for")
