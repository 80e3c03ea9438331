"""The terms of many files in one order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.index.lexical.file_terms import FileTerms
from inorder.index.lexical.term_ranks import rank_terms, rank_with_arrays

try:
    from inorder.index.lexical._counter import rank_terms as rank_compiled
except ImportError:
    rank_compiled = None  # type: ignore[assignment]
needs_compiler = pytest.mark.skipif(rank_compiled is None, reason="inorder was built without a C compiler")
FUNCTIONS = [pytest.param(rank_terms, marks=needs_compiler, id="compiled"), pytest.param(rank_with_arrays, id="arrays")]
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


@pytest.mark.parametrize("rank", FUNCTIONS)
def test_terms_are_in_ascending_order_and_each_is_found_by_its_rank(rank: Callable[..., Any]) -> None:
    first = make_terms(["horn", "fog", "lighthouses"], [2, 0, 1, 0])
    second = make_terms(["語", "é", "lighthouse", "fog", "z"], [3, 4, 0, 1, 2, 2])
    order, ranks = rank([first, make_terms([], []), second])
    assert order == ["fog", "horn", "lighthouse", "lighthouses", "z", "é", "語"]
    assert [order[each] for each in ranks] == [
        *("lighthouses", "horn", "fog", "horn"),
        *("fog", "z", "語", "é", "lighthouse", "lighthouse"),
    ]


@needs_compiler
@given(files())
def test_compiled_or_not_it_is_the_same(found: list[FileTerms]) -> None:
    order, ranks = rank_terms(found)
    expected_order, expected_ranks = rank_with_arrays(found)
    assert order == expected_order == sorted(order)
    assert ranks.tolist() == expected_ranks.tolist()


@needs_compiler
def test_many_terms_are_ranked() -> None:
    found = [make_terms([f"term{number * 7 % 5000}" for number in range(5000)], [*range(5000)])]
    order, ranks = rank_terms(found)
    assert order == sorted(f"term{number}" for number in range(5000))
    assert [order[each] for each in ranks] == found[0].vocabulary.split()


@pytest.mark.parametrize("rank", FUNCTIONS)
def test_a_term_that_is_not_in_the_vocabulary_is_refused(rank: Callable[..., Any]) -> None:
    with pytest.raises(IndexError):
        rank([make_terms(["fog", "horn"], [0]), make_terms(["fog"], [1])])


@needs_compiler
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([""],), TypeError),
        (([""], []), TypeError),
        ((("",), (b"",)), TypeError),
        (([1], [b""]), TypeError),
        ((["fog"], ["fog"]), TypeError),
        ((["fog"], [b"\0\0\0"]), ValueError),
        ((["\ud800"], [b"\0\0\0\0"]), UnicodeEncodeError),
    ],
)
def test_the_compiled_function_refuses_what_it_cannot_rank(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        rank_compiled(*arguments)
