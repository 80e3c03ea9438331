"""Questions that nothing answers, and hits that may answer by chance."""

import json

import pytest

from inorder.index.ranking.noise import make_questions
from inorder.index.search import SearchOptions, search
from inorder.library.opening import find_index
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.slow

TOPICS = {
    "garage": "Replacing the brakes of an automobile takes two hours.",
    "museum": "The painters of the fourteenth century used egg and pigment.",
    "kitchen": "Boil the carrots, then add cream and pepper.",
    "orchestra": "The violins play softly while the trumpets wait.",
    "harbour": "Boats leave at dawn; the barometer falls before a storm.",
    "hospital": "The nurse measures the temperature of each patient twice.",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    runs = FolderRuns(tmp_path_factory.mktemp("nothing"))
    for name, text in TOPICS.items():
        for number in range(20):
            runs.write(f"docs/{name}-{number}.md", f"# {name} {number}\n\n{text} Part {number}.\n")
    runs.run("docs")
    return runs


def call(runs: FolderRuns, *arguments: str) -> tuple[int, str, str]:
    return run_in_process(("search", "--data", str(runs.data), *arguments), runs.folder, clean_environment())


@pytest.mark.parametrize("mode", ["auto", "hybrid", "lexical", "dense"])
@pytest.mark.parametrize("question", ["zzzqqqxx", "zzzqqqxx qqqzzz", "the zzzqqqxx of a xqzwv"])
def test_nothing_is_found_for_words_that_mean_nothing(runs: FolderRuns, question: str, mode: str) -> None:
    code, out, err = call(runs, question, "--mode", mode)
    assert (code, out) == (3, "")
    assert err.splitlines()[0] == "nothing found"
    code, out, _ = call(runs, question, "--mode", mode, "--json")
    assert code == 3
    assert json.loads(out)["hits"] == []


def test_other_words_for_the_same_thing_are_found(runs: FolderRuns) -> None:
    answer = search(find_index(str(runs.data)), "vehicle repairs")
    assert answer.hits[0].item_id.startswith("docs/garage")
    assert not answer.hits[0].is_weak


def test_hits_without_a_word_that_are_no_more_similar_than_by_chance_are_marked_as_weak(runs: FolderRuns) -> None:
    hits = search(find_index(str(runs.data)), "zzzqqqxx barometer", SearchOptions(count=40)).hits
    with_word = [hit for hit in hits if "barometer" in hit.text]
    assert len(with_word) == 20
    assert hits[:20] == with_word
    assert not any(hit.is_weak for hit in with_word)
    assert len(hits) == 40
    assert all(hit.is_weak for hit in hits[20:])


def test_a_hit_of_vectors_alone_is_weak_only_without_a_word(runs: FolderRuns) -> None:
    hits = search(find_index(str(runs.data)), "zzzqqqxx barometer", SearchOptions(count=120, mode="dense")).hits
    assert len(hits) == 120
    assert not any(hit.is_weak for hit in hits if "barometer" in hit.text)
    assert all(hit.is_weak for hit in hits[-20:])


def test_weak_hits_are_marked_on_the_terminal_and_in_json(runs: FolderRuns) -> None:
    asked = ("zzzqqqxx barometer", "-k", "21")
    _, out, _ = call(runs, *asked)
    assert out.count("weak: none of the words, and not more similar than by chance") == 1
    _, out, _ = call(runs, *asked, "--json")
    assert [hit["is_weak"] for hit in json.loads(out)["hits"]] == [False] * 20 + [True]


def test_the_beginning_of_a_word_is_found_if_no_whole_word_is(runs: FolderRuns) -> None:
    answer = search(find_index(str(runs.data)), "barom", SearchOptions(mode="lexical"))
    assert answer.hits[0].item_id.startswith("docs/harbour")
    assert search(find_index(str(runs.data)), "car", SearchOptions(mode="lexical")).hits == []


def test_questions_that_mean_nothing_are_the_same_every_time() -> None:
    assert make_questions() == make_questions()
    assert all(question.replace(" ", "").isalpha() for question in make_questions())
