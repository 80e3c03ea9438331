"""Numbers of list items: read back as they were written."""

import pytest

from inorder.documents.readers.numerals import ROMAN_MAX, format_number, to_letters, to_roman

VALUES = {"m": 1000, "d": 500, "c": 100, "l": 50, "x": 10, "v": 5, "i": 1}


def read_roman(written: str) -> int:
    values = [VALUES[each] for each in written]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def test_every_roman_numeral_is_read_back() -> None:
    for number in range(1, ROMAN_MAX + 1):
        assert read_roman(to_roman(number)) == number
        assert not any(4 * each in to_roman(number) for each in "ixc")
    assert (to_roman(0), to_roman(ROMAN_MAX + 1)) == ("0", str(ROMAN_MAX + 1))


def test_letters_count_as_columns_of_a_sheet_do() -> None:
    assert [to_letters(number) for number in (0, 1, 26, 27, 52, 53, 702, 703)] == [
        *("0", "a", "z", "aa", "az", "ba", "zz", "aaa")
    ]


@pytest.mark.parametrize(
    ("style", "written"), [("1", "4"), ("a", "d"), ("A", "D"), ("i", "iv"), ("I", "IV"), ("other", "4")]
)
def test_a_number_is_written_in_the_style_of_its_list(style: str, written: str) -> None:
    assert format_number(4, style) == written
