"""The file with the answers of models."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from inorder.errors import IntegrityError, OperatorError
from inorder.models.answers import Answer, AnswerStore, find_kept
from inorder.models.question import Question

pytestmark = pytest.mark.req("MOD-2")

WRITER = """
import sys
from inorder.models.answers import Answer, AnswerStore
from inorder.models.question import Question
path, name = sys.argv[1:]
with AnswerStore(path) as store:
    for number in range(10**6):
        question = Question(model="m", prompt="p", input_key=f"{name}#{number}")
        answer = Answer(text="t", tokens_in=1, tokens_out=1, finish_reason="stop", model="m", seconds=0.1)
        store.keep(question, answer)
        print(question.key, flush=True)
"""


def ask(number: int) -> Question:
    return Question(model="http://h/v1#m", prompt="Read it.", input_key=f"f#{number}")


def answer(text: str = "lamp") -> Answer:
    return Answer(text=text, tokens_in=7, tokens_out=2, finish_reason="stop", model="http://h/v1#m", seconds=0.25)


def test_an_answer_that_was_kept_is_found_by_another_program(tmp_path: Path) -> None:
    path = str(tmp_path / "answers.sqlite")
    with AnswerStore(path) as store:
        store.keep(ask(1), answer())
        assert find_kept(path, [ask(1).key, ask(2).key]) == {ask(1).key: answer()}
        assert store.find([ask(1).key, ask(2).key]) == {ask(1).key: answer()}


def test_the_first_answer_to_a_question_stays(tmp_path: Path) -> None:
    with AnswerStore(str(tmp_path / "a")) as store:
        store.keep(ask(1), answer("first"))
        store.keep(ask(1), answer("second"))
        assert store.find([ask(1).key])[ask(1).key].text == "first"


def test_thousands_of_keys_are_looked_up_at_once(tmp_path: Path) -> None:
    with AnswerStore(str(tmp_path / "a")) as store:
        for number in (0, 700, 1999):
            store.keep(ask(number), answer())
        assert len(store.find([ask(number).key for number in range(2000)])) == 3


def test_only_the_owner_can_read_the_answers(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    path.touch(0o644)
    with AnswerStore(str(path)) as store:
        store.keep(ask(1), answer())
        for each in tmp_path.iterdir():
            assert stat.S_IMODE(os.stat(each).st_mode) == 0o600, each


def test_where_nothing_was_kept_nothing_is_created_to_look_it_up(tmp_path: Path) -> None:
    assert find_kept(str(tmp_path / "none"), [ask(1).key]) == {}
    assert list(tmp_path.iterdir()) == []


def test_answers_that_arrive_together_share_transactions(tmp_path: Path) -> None:
    """While the first waits for another program, 49 threads hand in theirs: two transactions have them all."""
    path = str(tmp_path / "a")
    begun: list[str] = []
    with AnswerStore(path) as store:
        store._writer.set_trace_callback(lambda sql: begun.append(sql) if sql.startswith("BEGIN") else None)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        threads = [threading.Thread(target=store.keep, args=(ask(number), answer())) for number in range(50)]
        threads[0].start()
        while not begun:
            threads[0].join(0.001)
        for thread in threads[1:]:
            thread.start()
        while store.waiting < 49:
            threads[0].join(0.001)
        other.execute("ROLLBACK")
        other.close()
        for thread in threads:
            thread.join()
        assert len(store.find([ask(number).key for number in range(50)])) == 50
    assert len(begun) == 2


@pytest.mark.parametrize("content", [b"no database at all " * 99, b""])
def test_a_file_of_another_kind_is_refused_or_made_one(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    if content:
        with pytest.raises((OperatorError, IntegrityError), match="not an SQLite database"):
            AnswerStore(str(path))
    else:
        AnswerStore(str(path)).close()


def test_a_database_of_something_else_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(OperatorError, match="not one with answers of models; choose another with --answers"):
        AnswerStore(str(path))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.req("JRN-1")
def test_what_was_kept_survives_the_death_of_any_of_several_writers(tmp_path: Path) -> None:
    """Four programs write to one file, and are killed: every answer that one has reported is there."""
    path = str(tmp_path / "shared.sqlite")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    reported: list[str] = []
    for number, writer in enumerate(writers):
        assert writer.stdout is not None
        reported += [writer.stdout.readline().strip() for _ in range(20 + number)]
        writer.kill()
        reported += [line.strip() for line in writer.stdout if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()
    with AnswerStore(path) as store:
        assert set(store.find(reported)) == set(reported)
        [check] = store._reader.execute("PRAGMA integrity_check").fetchone()
    assert check == "ok"
    assert len(reported) >= 86
