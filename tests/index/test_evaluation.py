"""Measuring answers: the metrics by hand, the files that are read, and the command."""

import json
import math
from pathlib import Path
from threading import Thread

import pytest

from inorder.errors import OperatorError
from inorder.index.evaluation import compare_values, measure_ranking, read_questions
from inorder.index.search import search
from inorder.library.opening import find_index
from tests.index.project import Project
from tests.library.libraries import write
from tests.library.making import make_document

pytestmark = pytest.mark.req("SEA-4")

TEXTS = {"src/lamp.md": "lamp oil", "src/fog.md": "fog horn", "src/both.md": "lamp fog horn horn horn"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An index of three files, two questions about them, and one that nothing answers."""
    project = Project(tmp_path)
    project.data.mkdir()
    write(project.data, *(make_document(name, text) for name, text in TEXTS.items()))
    rows = [{"id": "q1", "text": "oil"}, {"id": "q2", "text": "horn"}, {"id": "q3", "text": "snow"}]
    (tmp_path / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "qrels.tsv").write_text("q1\tlamp\t1\nq2\tfog.md\t2\nq2\tsrc/both.md\t0\nq3\tlamp\t0\n")
    return project


def test_the_metrics_are_those_of_the_literature() -> None:
    found = measure_ranking(["a", "b", "c", "d"], {"b": 3, "d": 1, "x": 2, "y": 0})
    ideal = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    assert found == {
        "nDCG@10": pytest.approx((3 / math.log2(3) + 1 / math.log2(5)) / ideal),
        "MAP": pytest.approx((1 / 2 + 2 / 4) / 3),
        "recall@100": pytest.approx(2 / 3),
        "Acc@1": 0.0,
        "Acc@5": 1.0,
    }


def test_a_perfect_answer_has_one_everywhere_and_an_empty_one_nothing() -> None:
    assert set(measure_ranking(["a", "b"], {"a": 2, "b": 1}).values()) == {1.0}
    assert set(measure_ranking([], {"a": 1}).values()) == {0.0}


def test_what_is_beyond_the_tenth_place_does_not_count_for_ndcg() -> None:
    ranking = [f"no{number}" for number in range(10)] + ["yes"]
    found = measure_ranking(ranking, {"yes": 1})
    assert found["nDCG@10"] == 0.0
    assert found["recall@100"] == 1.0


def test_a_difference_in_every_question_is_no_chance_and_the_same_results_are() -> None:
    worse = [number / 40 for number in range(20)]
    better = [value + 0.1 for value in worse]
    assert compare_values(worse, better).mean == pytest.approx(0.1)
    assert compare_values(worse, better).p_value < 0.001
    assert compare_values(worse, worse) == (0.0, 1.0)
    assert compare_values([0, 1], [1, 0]).p_value == 1.0


def test_one_question_in_favour_is_chance_every_time() -> None:
    found = compare_values([0.0] * 9 + [0.0], [0.0] * 9 + [1.0])
    assert found.p_value == 1.0
    assert compare_values([0.0, 0.0], [1.0, 1.0]).p_value == pytest.approx(0.5, abs=0.02)


def test_the_command_measures_every_question_that_has_an_answer(project: Project) -> None:
    found = project.ask("eval", "queries.jsonl", "qrels.tsv", "--mode", "lexical")
    assert (found["questions"], found["left_out"]) == (2, 1)
    [setting] = found["settings"]
    assert setting["name"] == "mode=lexical"
    assert setting["metrics"]["recall@100"] == 1.0
    assert found["by_question"]["q1"] == [1.0]
    assert found["by_question"]["q2"] == [pytest.approx(1 / math.log2(3), abs=1e-6)]


def test_two_settings_are_compared(project: Project) -> None:
    ended = project.call("eval", "queries.jsonl", "qrels.tsv", "--mode", "lexical", "--against", "only=code")
    assert ended.returncode == 0, ended.stderr
    head, first, second, difference, chance = (line.split() for line in ended.stdout.splitlines())
    assert head == ["nDCG@10", "MAP", "recall@100", "Acc@1", "Acc@5"]
    assert (first[0], second[0], second[3]) == ("mode=lexical", "only=code", "0.0000")
    assert difference[3] == "-1.0000"
    assert chance[0] == "p"
    assert ended.stderr == "2 questions, 1 without an answer left out\n"


def test_part_of_the_questions_can_be_kept_for_the_report(project: Project) -> None:
    parts = [
        project.ask("eval", "queries.jsonl", "qrels.tsv", "--part", part)["by_question"] for part in ("1/2", "2/2")
    ]
    assert [list(part) for part in parts] == [["q1"], ["q2"]]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("none.jsonl", "qrels.tsv"), "cannot read none.jsonl"),
        (("qrels.tsv", "qrels.tsv"), "qrels.tsv, line 1: expected a JSON object with id and text"),
        (("queries.jsonl", "queries.jsonl"), "expected question, document and grade"),
        (("queries.jsonl", "qrels.tsv", "--mode", "magic"), "--mode must be one of"),
        (("queries.jsonl", "qrels.tsv", "--against", "colour=red"), "--against has no setting 'colour'"),
        (("queries.jsonl", "qrels.tsv", "--against", "mode"), "--against takes NAME=VALUE"),
        (("queries.jsonl", "qrels.tsv", "--part", "3/2"), "--part must be N/M"),
        (("queries.jsonl", "other.tsv"), "no document that the judgements name is in the index"),
        (("queries.jsonl", "zero.tsv"), "none of the questions has a relevant document"),
    ],
)
def test_wrong_usage_is_one_line(project: Project, arguments: tuple[str, ...], complaint: str) -> None:
    (project.folder / "other.tsv").write_text("q1\tnowhere\t1\n")
    (project.folder / "zero.tsv").write_text("q1\tlamp\t0\n")
    ended = project.call("eval", *arguments)
    assert ended.returncode == 2
    assert complaint in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_judgements_may_have_the_columns_of_trec_and_a_head(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": 7, "text": "oil"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n7\ta b\t1\n")
    (tmp_path / "trec.txt").write_text("7 0 a 1\n7 0 b -1\n")
    [question] = read_questions(tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
    assert question == ("7", "oil", {"a b": 1})
    [question] = read_questions(tmp_path / "queries.jsonl", tmp_path / "trec.txt")
    assert question.grades == {"a": 1, "b": -1}


def test_a_name_that_two_files_have_is_refused(project: Project) -> None:
    write(project.data, make_document("src/a/x.md", "oil"), make_document("src/b/x.md", "oil"))
    (project.folder / "qrels.tsv").write_text("q1\tx\t1\n")
    ended = project.call("eval", "queries.jsonl", "qrels.tsv")
    assert "the judgements name 'x', which may be src/a/x.md or src/b/x.md" in ended.stderr


def test_an_index_stays_open_until_another_one_is_published(project: Project) -> None:
    data = str(project.data)
    assert search(find_index(data), "oil").hits
    with pytest.raises(OperatorError, match="no word to search for"):
        search(find_index(data), "?")
    write(project.data, make_document("src/lamp.md", "gas"))
    assert not search(find_index(data), "oil").hits
    assert search(find_index(data), "gas").hits


@pytest.mark.slow
def test_threads_may_ask_at_the_same_time(project: Project) -> None:
    answers: list[list[str]] = []

    def ask() -> None:
        found = [search(find_index(str(project.data)), "horn").hits for _ in range(20)]
        answers.extend([hit.item_id for hit in hits] for hits in found)

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [["src/both.md", "src/fog.md"]] * 80


@pytest.mark.parametrize("grade", ["--1", "9" * 5000, "1.5"])
def test_a_grade_that_is_no_number_is_named_by_its_line(tmp_path: Path, grade: str) -> None:
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "lamp"}\n')
    (tmp_path / "qrels.tsv").write_text(f"q\td\t1\nq\te\t{grade}\n")
    with pytest.raises(OperatorError, match=r"qrels\.tsv, line 2: expected question, document and grade"):
        read_questions(tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")


def test_a_question_that_is_nested_too_deeply_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text("[" * 100_000)
    (tmp_path / "qrels.tsv").write_text("q\td\t1\n")
    with pytest.raises(OperatorError, match=r"queries\.jsonl, line 1: expected a JSON object"):
        read_questions(tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
