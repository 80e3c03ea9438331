"""What has exactly the size of a limit is within it."""

import pytest

from inorder.code.parse import parse
from inorder.index.query import parse_query


def sizes(text: str) -> list[int]:
    """The number of lines of each chunk."""
    return [chunk.end_line - chunk.start_line + 1 for chunk in parse("a.py", text.encode()).chunks]


def test_small_definitions_are_joined_up_to_60_lines() -> None:
    assert sizes("".join(f"def f{number}(): pass\n" for number in range(100))) == [60, 40]


@pytest.mark.parametrize(("lines", "is_whole"), [(120, True), (121, False)])
def test_a_function_of_120_lines_is_one_chunk(lines: int, is_whole: bool) -> None:
    found = sizes("def f():\n" + "    x = 1\n" * (lines - 1))
    assert (found == [lines]) == is_whole
    assert sum(found) == lines


@pytest.mark.parametrize(("lines", "is_whole"), [(20, True), (21, False)])
def test_a_class_of_20_lines_is_one_chunk_with_its_methods(lines: int, is_whole: bool) -> None:
    method = "    def m{}(self):\n" + "        x = 1\n" * 8
    found = sizes("class C:\n" + method.format(1) + method.format(2) + "        y = 2\n" * (lines - 19))
    assert (found == [lines]) == is_whole
    assert sum(found) == lines


@pytest.mark.parametrize(("added", "is_parsed"), [(b"", True), (b"#", False)])
def test_a_file_with_an_average_of_1000_bytes_per_line_is_not_minified(added: bytes, is_parsed: bool) -> None:
    lines = [b"def f(): pass #" + b"w" * 984 + b"\n", *[b"# " + b"w" * 997 + b"\n"] * 11]
    assert len(b"".join(lines)) == 1000 * len(lines)
    assert bool(parse("a.py", added + b"".join(lines)).symbols) == is_parsed


def test_a_question_has_at_most_256_terms_of_which_repeated_ones_are_kept() -> None:
    words = [f"term{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(300)]
    groups = parse_query(" ".join([*words, words[-1]])).make_groups()
    assert [group.forms for group in groups] == [(word,) for word in [*words[:255], words[-1]]]
