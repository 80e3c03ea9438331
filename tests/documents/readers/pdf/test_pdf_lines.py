"""Rows of segments, and markers of list items."""

import random

import pytest

from inorder.documents.readers.pdf.columns import find_marker
from inorder.documents.readers.pdf.lines import group_rows
from inorder.documents.readers.pdf.segments import Segment

pytestmark = pytest.mark.req("DOC-1")


def make_segment(text: str, left: float, top: float, height: float = 10.0) -> Segment:
    """A segment at a place."""
    return Segment(text, left, top, left + 20, top + height, height)


def texts_of(segments: list[Segment]) -> list[list[str]]:
    """The texts of the rows of these segments."""
    return [[segment.text for segment in row] for row in group_rows(segments)]


def test_segments_are_grouped_into_the_same_rows_in_whatever_order_they_were_drawn() -> None:
    lines = [make_segment(str(number), 0, 12.0 * number) for number in range(20)]
    beside = [make_segment(f"{number} beside", 50, 12.0 * number + 1) for number in (3, 4, 19)]
    rows = [[str(number), f"{number} beside"] if number in (3, 4, 19) else [str(number)] for number in range(20)]
    assert texts_of(lines) == [[str(number)] for number in range(20)]
    for seed in range(5):
        drawn = lines + beside
        random.Random(seed).shuffle(drawn)
        assert texts_of(drawn) == rows


def test_segments_that_touch_are_rows_of_their_own_and_those_that_share_most_of_their_height_are_not() -> None:
    assert texts_of([make_segment("a", 0, 0), make_segment("b", 0, 10)]) == [["a"], ["b"]]
    assert texts_of([make_segment("a", 0, 0), make_segment("b", 0, 6)]) == [["a"], ["b"]]
    assert texts_of([make_segment("b", 30, 0), make_segment("a", 0, 4)]) == [["a", "b"]]


@pytest.mark.parametrize(
    ("text", "marker", "is_number"),
    [
        ("o oil the lamp", "o", False),
        ("\u2022 oil the lamp", "\u2022", False),
        ("- oil the lamp", "-", False),
        ("i. oil the lamp", "i.", True),
        ("xiv) oil the lamp", "xiv)", True),
        ("vi. oil the lamp", "vi.", True),
        ("b) oil the lamp", "b)", True),
        ("b. oil the lamp", "b.", True),
        ("(b) oil the lamp", "(b)", True),
        ("12. oil the lamp", "12.", True),
        ("(12) oil the lamp", "(12)", True),
    ],
)
def test_a_marker_of_a_list_item_is_found(text: str, marker: str, is_number: bool) -> None:
    assert find_marker(text) == (marker, is_number)


@pytest.mark.parametrize("text", ["of oil", "oil", "in a lamp", "ivy", "vix", "a lamp", "o", "Lamp", "\u00e9t\u00e9"])
def test_a_word_is_not_a_marker(text: str) -> None:
    assert find_marker(text)[0] == ""
