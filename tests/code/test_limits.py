"""Files that were not written by hand: large, deep or minified. Limits are generous, and in CPU time."""

import time
from collections.abc import Callable

import pytest

from inorder.code.model import ParsedFile
from inorder.code.parse import parse
from tests.code.partition import check_partition

SECONDS_MAX = 20
"""Several times what is needed on a slow machine; what grows with the square takes minutes."""
DEPTH = 50_000


def timed(name: str, data: bytes) -> ParsedFile:
    started = time.process_time()
    parsed = parse(name, data)
    assert time.process_time() - started < SECONDS_MAX
    check_partition(data, parsed)
    return parsed


@pytest.mark.slow
@pytest.mark.req("IDX-4")
def test_a_minified_file_of_5_mb_is_one_chunk_and_noted() -> None:
    parsed = timed("a.js", b"function a(b){return b+1};" * 200_000)
    assert len(parsed.chunks) == 1
    assert parsed.note == "cut into lines: larger than 2,000,000 bytes"


@pytest.mark.req("IDX-4")
def test_a_smaller_minified_file_is_not_parsed_either() -> None:
    parsed = timed("a.js", b"function a(b){return b+1};" * 1000)
    assert (parsed.note, parsed.symbols) == ("cut into lines: minified", ())


@pytest.mark.slow
@pytest.mark.req("IDX-1")
@pytest.mark.parametrize(("name", "line", "symbol_count"), [("a.txt", b"word\n", 0), ("a.py", b"x = 1\n", 200_000)])
def test_200_000_lines_take_bounded_time(name: str, line: bytes, symbol_count: int) -> None:
    parsed = timed(name, line * 200_000)
    assert len(parsed.symbols) == symbol_count
    assert max(chunk.end_line - chunk.start_line + 1 for chunk in parsed.chunks) <= 60


DEEP: list[tuple[str, str, Callable[[int], bytes]]] = [
    ("brackets", "a.py", lambda depth: b"x = " + b"(\n" * depth + b"1" + b")\n" * depth),
    ("calls", "a.py", lambda depth: b"x = " + b"f(\n" * depth + b"1" + b")\n" * depth),
    ("functions", "a.js", lambda depth: b"function f() {\n" * depth + b"}\n" * depth),
    ("arrays", "a.json", lambda depth: b"[\n" * depth + b"]\n" * depth),
    ("modules", "a.rs", lambda depth: b"mod a {\n" * depth + b"}\n" * depth),
]


@pytest.mark.slow
@pytest.mark.req("IDX-4")
@pytest.mark.parametrize(
    ("name", "nested"), [(name, nested) for _, name, nested in DEEP], ids=[each[0] for each in DEEP]
)
def test_deep_nesting_overflows_nothing(name: str, nested: Callable[[int], bytes]) -> None:
    parsed = timed(name, nested(DEPTH))
    assert len(parsed.chunks) > 100
    assert all(len(symbol.qualified_name) < 100 for symbol in parsed.symbols)


@pytest.mark.req("IDX-4")
def test_yaml_that_would_bring_down_its_grammar_is_cut_into_lines() -> None:
    parsed = timed("a.yaml", b"".join(b" " * depth + b"a:\n" for depth in range(400)))
    assert parsed.note == "cut into lines: nested too deep"
