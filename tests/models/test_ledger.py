"""What a file with answers has, and what is removed from it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inorder.models.answers import Answer, AnswerStore
from inorder.models.ledger import (
    Again,
    Selection,
    count_again,
    count_answers,
    list_answers,
    list_files,
    list_questions,
    remove_answers,
)
from inorder.models.question import Question

pytestmark = pytest.mark.req("MOD-2")

EVERYTHING = Selection()
FIRST, SECOND = "a" * 64, "b" * 64


def make(text: str = "lamp", tokens_in: int = 10) -> Answer:
    return Answer(text=text, tokens_in=tokens_in, tokens_out=2, finish_reason="stop", model="m", seconds=0.1)


def ask(file: str, page: int = 1, model: str = "http://h/v1#m", prompt: str = "Read it.") -> Question:
    return Question(model=model, prompt=prompt, parameters={"dpi": 144}, input_key=f"{file}#{page}")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Two pages of one file, one of another, one by another model, and one answer that was refused."""
    path = str(tmp_path / "answers.sqlite")
    now = iter(range(1000, 2000))
    with AnswerStore(path, lambda: next(now)) as store:
        store.keep(ask(FIRST), make("SECRET TEXT"))
        store.keep(ask(FIRST, 2), make())
        store.keep(ask(SECOND), make(tokens_in=30))
        store.keep(ask(SECOND, 2, model="http://h/v1#other"), make())
        store.keep(ask(SECOND, 3), make(""), "it is empty")
    return path


def test_questions_are_listed_with_what_was_paid(path: str) -> None:
    first, second = list_questions(path, EVERYTHING)
    assert (first.model, first.answers) == ("http://h/v1#other", 1)
    assert (second.prompt, second.parameters, second.answers, second.refused) == ("Read it.", {"dpi": 144}, 4, 1)
    assert (second.tokens_in, second.tokens_out, second.first_at, second.last_at) == (60, 8, 1000, 1004)


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        (EVERYTHING, 5),
        (Selection(model="other"), 1),
        (Selection(refused=True), 1),
        (Selection(before=1002), 2),
        (Selection(model="#m", before=1001), 1),
    ],
)
def test_a_selection_is_what_is_listed_and_what_is_removed(selection: Selection, count: int, path: str) -> None:
    assert len(list(list_answers(path, selection))) == count_answers(path, selection) == count
    assert remove_answers(path, selection) == count
    assert count_answers(path, EVERYTHING) == 5 - count


def test_an_export_has_what_was_asked_and_answered(path: str) -> None:
    first, *_, last = list_answers(path, EVERYTHING)
    assert first["key"] == ask(FIRST).key
    assert (first["input_key"], first["text"], first["parameters"]) == (f"{FIRST}#1", "SECRET TEXT", {"dpi": 144})
    assert last["refused"] == "it is empty"


def test_answers_about_a_file_are_removed_with_the_text_that_they_hold(path: str) -> None:
    assert list_files(path, EVERYTHING) == [FIRST, SECOND]
    assert remove_answers(path, EVERYTHING, [FIRST]) == 2
    assert list_files(path, EVERYTHING) == [SECOND]
    for each in Path(path).parent.iterdir():
        assert b"SECRET" not in each.read_bytes(), each


@pytest.mark.req("MOD-3")
def test_another_prompt_would_ask_again_for_what_it_has_no_answer_to(path: str) -> None:
    assert count_again(path, EVERYTHING, "Read it.") == Again(questions=0, tokens_in=0, tokens_out=0)
    assert count_again(path, EVERYTHING, "Other.") == Again(questions=4, tokens_in=60, tokens_out=8)
    with AnswerStore(path) as store:
        store.keep(ask(SECOND, prompt="Other."), make())
    assert count_again(path, Selection(model="#m"), "Other.") == Again(questions=2, tokens_in=20, tokens_out=4)


def test_what_is_found_by_its_content_is_gone_with_the_last_answer_about_it(tmp_path: Path) -> None:
    path, content = str(tmp_path / "answers.sqlite"), "c" * 64
    with AnswerStore(path) as store:
        store.keep(ask(FIRST), make("lamp"), content=content)
        store.keep(ask(SECOND), make("lamp"), content=content)
        remove_answers(path, EVERYTHING, [FIRST])
        found = store.find_content(content)
        assert found is not None
        assert found.text == "lamp"
        remove_answers(path, EVERYTHING, [SECOND])
        assert store.find_content(content) is None


def test_a_file_of_answers_of_an_older_version_is_read_and_completed(path: str) -> None:
    """Its answers have no content beside them: they are found by their questions alone."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TRIGGER contents_follow; DROP TABLE contents;")
    assert count_answers(path, EVERYTHING) == 5
    assert remove_answers(path, EVERYTHING, [SECOND]) == 3
    with AnswerStore(path) as store:
        assert store.find([ask(FIRST).key])
        store.keep(ask(SECOND), make(), content="c" * 64)
        found = store.find_content("c" * 64)
    assert found is not None
    assert found.text == "lamp"
