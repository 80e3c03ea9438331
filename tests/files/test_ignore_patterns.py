"""Patterns of ignore files: what they match, and that no line of them takes for ever."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from inorder.files.ignore_patterns import parse_patterns
from inorder.files.walk import is_ignored, parse_rules

PIECES = st.sampled_from(["a", "b", "*", "*", "?", "/", "**/", "/**/", "[ab]", ".", "(", "*a"])
PATTERNS = st.lists(PIECES, min_size=1, max_size=9).map("".join)
PATHS = st.lists(st.text("ab.(", min_size=1, max_size=5), min_size=1, max_size=5).map("/".join)


@pytest.mark.slow
@settings(max_examples=400)
@given(PATTERNS, st.lists(PATHS, min_size=5, max_size=20), st.booleans())
def test_a_pattern_matches_what_it_does_in_the_library(pattern: str, paths: list[str], is_folder: bool) -> None:
    try:
        expected = GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        with pytest.raises(ValueError, match=r"pattern|character|range|escape|set"):
            parse_patterns([pattern])
        return
    found = parse_patterns([pattern])
    for path in [f"{path}/" if is_folder else path for path in paths]:
        assert found.check_file(path).include == expected.check_file(path).include, path


@pytest.mark.timeout(20)
@pytest.mark.req("ROB-1")
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*" * 30 + "x", "a" * 200),
        ("*a" * 30 + "b", "a" * 200),
        ("*[(?]" * 12 + "b", "(?" * 100),
        ("**/a/" * 12 + "b", "a/" * 300),
        ("**/*a*a*a/" * 5 + "b", ("a" * 50 + "/") * 30),
    ],
    ids=["asterisks", "names", "brackets", "folders", "both"],
)
def test_a_line_with_many_wildcards_does_not_stop_the_walk(pattern: str, path: str) -> None:
    rules = parse_rules("", f"{pattern}\n", ".gitignore")
    assert not is_ignored([rules], path)
    assert is_ignored([rules], f"{path}x" if pattern.endswith("x") else f"{path}b")
