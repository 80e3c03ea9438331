"""Phrases and words to leave out, where most of the chunks that have the words do not meet them."""

from pathlib import Path

import pytest

from inorder.index.query import parse_query
from inorder.index.search import SearchOptions, search
from inorder.library.opening import find_index
from tests.index.documents import make_indexed
from tests.library.libraries import write
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("SEA-1"), pytest.mark.slow]
DISTRACTORS = 900
PADDING = "and nothing else is known of this night " * 60


@pytest.fixture(scope="module", params=["", "hash:64"], ids=["words", "vectors"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short chunks with both words, and three long ones at the end of every list of scores."""
    folder = tmp_path_factory.mktemp("rare")
    texts = [f"horn heard in fog {'later ' * (number % 300)}{number}" for number in range(DISTRACTORS)]
    write(
        folder,
        make_indexed("notes", *texts, provider=request.param),
        make_indexed("phrase", f"The fog horn of the reef {PADDING}", provider=request.param),
        make_indexed("bare", f"A horn on a shelf {PADDING}", provider=request.param),
        make_indexed("tower", f"\u706f\u5854\u5b88\u62a4\u8005\u70b9\u4eae\u706f {PADDING}", provider=request.param),
        make_indexed("name", "Read the TideGauge of relais 7", provider=request.param),
    )
    return folder


def find(data: Path, question: str, mode: str = "auto") -> tuple[set[str], list[str]]:
    answer = search(find_index(str(data)), question, SearchOptions(mode=mode))
    return {hit.item_id for hit in answer.hits}, [
        each for each in answer.warnings if "since the index was made" not in each
    ]


@pytest.mark.parametrize("question", ['"fog horn"', 'horn "Fog Horn"', '"fog horn" "the reef"', '"horn of the" fog'])
def test_a_phrase_that_one_chunk_of_many_has_is_found(data: Path, question: str) -> None:
    assert find(data, question) == ({"phrase"}, [])


def test_a_phrase_is_found_in_every_mode_that_the_index_has(data: Path) -> None:
    has_vectors = search(find_index(str(data)), "horn of fog").mode == "hybrid"
    for mode in ("lexical", "dense", "hybrid") if has_vectors else ("lexical",):
        assert find(data, '"fog horn"', mode) == ({"phrase"}, [])


def test_a_phrase_in_no_text_is_named_and_its_words_are_searched_for(data: Path) -> None:
    found, warnings = find(data, '"horn fog reef"')
    assert found
    assert warnings == ['no text has "horn fog reef": its words were searched for']


def test_a_word_that_most_chunks_have_can_be_left_out(data: Path) -> None:
    assert find(data, "horn -fog") == ({"bare"}, [])
    code, out, _ = run_in_process(("search", "--data", str(data), "horn -fog"), data, clean_environment())
    assert code == 0
    assert "bare" in out
    code, _, err = run_in_process(("search", "--data", str(data), "later -fog"), data, clean_environment())
    assert (code, err.splitlines()[0]) == (3, "nothing found")


def test_a_phrase_and_a_word_to_leave_out_need_no_spaces_between_words(data: Path) -> None:
    assert find(data, '"\u5b88\u62a4\u8005"') == ({"tower"}, [])
    assert find(data, 'night "\u5854\u5b88"') == ({"tower"}, [])
    assert parse_query("night -\u706f\u5854").excluded == ("\u706f\u5854",)
    assert find(data, "night -\u706f\u5854")[0] == {"phrase", "bare"}


@pytest.mark.parametrize("question", ['"tidegauge"', '"The TIDEGAUGE"', '"the TideGauge of" horn', '"RELAIS"'])
def test_a_phrase_is_found_in_other_letters(data: Path, question: str) -> None:
    assert find(data, question) == ({"name"}, [])
