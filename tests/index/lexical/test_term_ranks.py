"""The terms of many files in one order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.index.lexical.file_terms import FileTerms
from inorder.index.lexical.term_ranks import rank_terms

WORDS = st.text(st.sampled_from("abz09_é語\U0001f600\0"), min_size=1, max_size=20)


def make_terms(vocabulary: list[str], numbers: list[int]) -> FileTerms:
    return FileTerms(" ".join(vocabulary), b"", np.array(numbers, "<u4").tobytes(), b"", b"", b"\0\0", b"")


@st.composite
def files(draw: Any) -> list[FileTerms]:
    found = []
    for vocabulary in draw(st.lists(st.lists(WORDS, unique=True, max_size=8), min_size=1, max_size=6)):
        numbers = draw(st.lists(st.integers(0, len(vocabulary) - 1), max_size=20)) if vocabulary else []
        found.append(make_terms(vocabulary, numbers))
    return found


def test_terms_are_in_ascending_order_and_each_is_found_by_its_rank() -> None:
    first = make_terms(["horn", "fog", "lighthouses"], [2, 0, 1, 0])
    second = make_terms(["語", "é", "lighthouse", "fog", "z"], [3, 4, 0, 1, 2, 2])
    order, ranks = rank_terms([first, make_terms([], []), second])
    assert order == ["fog", "horn", "lighthouse", "lighthouses", "z", "é", "語"]
    assert [order[each] for each in ranks] == [
        *("lighthouses", "horn", "fog", "horn"),
        *("fog", "z", "語", "é", "lighthouse", "lighthouse"),
    ]


@pytest.mark.slow
@given(files())
def test_terms_of_any_files_are_found_by_their_ranks(found: list[FileTerms]) -> None:
    order, ranks = rank_terms(found)
    names = [each.vocabulary.split() for each in found]
    assert order == sorted({name for each in names for name in each})
    numbers = [np.frombuffer(each.terms, "<u4") for each in found]
    expected = [known[number] for known, each in zip(names, numbers, strict=True) for number in each]
    assert [order[rank] for rank in ranks] == expected


def test_many_terms_are_ranked() -> None:
    found = [make_terms([f"term{number * 7 % 5000}" for number in range(5000)], [*range(5000)])]
    order, ranks = rank_terms(found)
    assert order == sorted(f"term{number}" for number in range(5000))
    assert [order[each] for each in ranks] == found[0].vocabulary.split()


def test_a_term_that_is_not_in_the_vocabulary_is_refused() -> None:
    with pytest.raises(IndexError):
        rank_terms([make_terms(["fog", "horn"], [0]), make_terms(["fog"], [1])])
