"""Documents with the same text, or nearly the same, are reported and never dropped."""

from pathlib import Path
from random import Random

import pytest

from inorder.cli.commands.look.inspect import inspect
from inorder.dataset.duplicates import SIMILARITY_MIN, DuplicateGroup, find_duplicates
from inorder.errors import OperatorError
from tests.pipeline.folders import FolderRuns

pytestmark = pytest.mark.req("DOC-1")


def write(seed: int, count: int = 400) -> list[str]:
    chance = Random(seed)
    return [f"word{chance.randrange(500)}" for _ in range(count)]


def change(words: list[str], share: float) -> str:
    """The text with this share of its words replaced, at the end."""
    kept = round(len(words) * (1 - share))
    return " ".join([*words[:kept], *(f"other{at}" for at in range(len(words) - kept))])


def test_the_same_text_is_found_whatever_its_case_punctuation_and_chunks() -> None:
    chunks = [("b", "The lamp,"), ("b", "is lit."), ("c", "Something else entirely"), ("a", "the LAMP is lit")]
    assert find_duplicates(chunks) == [DuplicateGroup(documents=["a", "b"], similarity=1.0)]


def test_similar_texts_are_grouped_and_others_are_not() -> None:
    words = write(1)
    chunks = [("x", " ".join(words)), ("y", change(words, 0.03)), ("z", change(words, 0.6)), ("q", " ".join(write(2)))]
    [group] = find_duplicates(chunks)
    assert group.documents == ["x", "y"]
    assert SIMILARITY_MIN <= group.similarity < 1


def test_the_same_and_the_similar_are_groups_of_their_own() -> None:
    words = write(1)
    text, near = " ".join(words), change(words, 0.02)
    groups = find_duplicates([("a", text), ("b", near), ("c", text)])
    assert [(group.documents, group.similarity == 1) for group in groups] == [(["a", "b"], False), (["a", "c"], True)]


def test_documents_without_words_and_of_few_words_are_no_mistake() -> None:
    assert find_duplicates([("a", ""), ("b", "..."), ("c", "fog"), ("d", "fog horn")]) == []
    assert find_duplicates([]) == []
    assert [group.documents for group in find_duplicates([("a", "fog"), ("b", "Fog!")])] == [["a", "b"]]


@pytest.mark.slow
def test_many_different_documents_are_all_different() -> None:
    assert find_duplicates((str(seed), " ".join(write(seed, 80))) for seed in range(300)) == []


@pytest.mark.slow
def test_inspect_lists_duplicates_in_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = FolderRuns(tmp_path)
    text = " ".join(write(1))
    runs.write("docs/a.md", text)
    runs.write("docs/copy.txt", text)
    runs.write("docs/other.md", " ".join(write(2)))
    runs.run()
    inspect(duplicates=True, data=str(runs.data))
    assert capsys.readouterr().out == "the same text\n  docs/a.md\n  docs/copy.txt\n1 group of duplicates\n"
    with pytest.raises(OperatorError, match="takes no --stage"):
        inspect("chunk", duplicates=True, data=str(runs.data))
