"""Whatever a file holds: every line of it is in exactly one chunk, and nothing is raised."""

import codecs

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inorder.code.parse import parse, parse_lines
from tests.code.goldens import LANGUAGES, source_of
from tests.code.partition import check_partition

GOLDENS = [(source_of(language).name, source_of(language).read_bytes()) for language in LANGUAGES]
LINES = ("def f(x):", "    return g(x)", "class A {", "}", "", "# note", "/* open", "*/", "\tx = 1", "'''", "é = '😀'")
ENDINGS = ("\n", "\r\n", "\r", "\n\n\n", "")

texts = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(ENDINGS)), max_size=60).map(
    lambda lines: "".join(line + ending for line, ending in lines)
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A golden file, with a stretch of it repeated, left out or overwritten."""
    name, data = draw(st.sampled_from(GOLDENS))
    start, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
    middle = draw(st.sampled_from((b"", data[start:end] * 2, b"}\n" * 5, b"(", b'"', b"\xff\xfe", b"\r", b"\0")))
    return name, data[:start] + middle + data[end:]


@pytest.mark.slow
@pytest.mark.req("IDX-1")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_the_lines_of_a_damaged_file_are_shared_out(file: tuple[str, bytes]) -> None:
    name, data = file
    check_partition(data, parse(name, data))


@pytest.mark.slow
@pytest.mark.req("IDX-1")
@settings(max_examples=100, deadline=None)
@given(st.sampled_from([name for name, _ in GOLDENS]), texts)
def test_the_lines_of_any_text_are_shared_out(name: str, text: str) -> None:
    check_partition(text.encode(), parse(name, text.encode()))


@pytest.mark.slow
@pytest.mark.req("IDX-4")
@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=500), st.sampled_from(("a.py", "a.txt", "a")))
def test_the_lines_of_any_bytes_are_shared_out_without_a_grammar(data: bytes, name: str) -> None:
    parsed = parse_lines(name, data, "why")
    check_partition(data, parsed)
    assert parsed.note.endswith("why")
    assert {chunk.kind for chunk in parsed.chunks} <= {"lines"}


@pytest.mark.req("IDX-4")
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE), ("utf-8", codecs.BOM_UTF8)],
)
def test_a_file_in_another_encoding_is_parsed(encoding: str, mark: bytes) -> None:
    data = mark + "def größe():\n    return '😀', fn()\n".encode(encoding)
    parsed = parse("a.py", data)
    check_partition(data, parsed)
    assert parsed.note == ""
    assert parsed.chunks[0].text.startswith("def größe")
    assert [symbol.name for symbol in parsed.symbols] == ["größe"]
    assert [(call.line, call.column) for call in parsed.calls] == [(2, 17)]


@pytest.mark.req("IDX-4")
def test_bytes_that_are_no_utf8_are_read_and_noted() -> None:
    data = "def f():\n    return 'gr\xf6\xdfe'\n".encode("latin-1")
    parsed = parse("a.py", data)
    assert "not UTF-8" in parsed.note
    assert "größe" in parsed.chunks[0].text
    assert [symbol.name for symbol in parsed.symbols] == ["f"]


@pytest.mark.req("IDX-4")
def test_nul_bytes_are_noted_and_the_rest_is_still_found() -> None:
    parsed = parse("a.py", b"def f():\n    return '\0'\n\ndef g(): pass\n")
    assert parsed.note == "not a text file: it contains NUL bytes"
    assert "g" in [symbol.name for symbol in parsed.symbols]


@pytest.mark.req("IDX-4")
def test_a_file_with_syntax_errors_gives_what_can_be_made_out() -> None:
    parsed = parse("a.py", b"def good():\n    return 1\n\nclass (:\n\n" + b"def fine(x):\n    return helper(x)\n")
    assert {"good", "fine"} <= {symbol.name for symbol in parsed.symbols}
    assert "helper" in [call.callee for call in parsed.calls]


@pytest.mark.req("IDX-1")
def test_an_empty_file_has_no_chunks() -> None:
    parsed = parse("a.py", b"")
    assert (parsed.line_count, parsed.chunks, parsed.symbols) == (0, (), ())
