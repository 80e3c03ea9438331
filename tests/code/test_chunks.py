"""How the lines of a file are shared out among its definitions."""

import pytest

from inorder.code.model import CodeChunk
from inorder.code.parse import parse

pytestmark = pytest.mark.req("IDX-1")


def chunks(name: str, text: str) -> list[CodeChunk]:
    return list(parse(name, text.encode()).chunks)


def lines(count: int, indent: str = "    ") -> str:
    return "".join(f"{indent}value_{number} = {number}\n" for number in range(count))


def shape(found: list[CodeChunk]) -> list[tuple[str, str, int, int]]:
    return [(chunk.kind, chunk.qualified_name or chunk.name, chunk.start_line, chunk.end_line) for chunk in found]


def test_a_definition_takes_its_comments_and_decorators_along() -> None:
    text = lines(6, "") + "\n# Why it is\n# here.\n@cached\n@traced(\n    2,\n)\ndef f():\n" + lines(5)
    loose, function = chunks("a.py", text)
    assert (loose.kind, loose.end_line) == ("lines", 7)
    assert (function.name, function.start_line, function.end_line) == ("f", 8, 19)


def test_a_comment_after_code_or_before_an_empty_line_belongs_to_no_definition() -> None:
    text = lines(6, "") + "x = 1  # not about f\ndef f():\n" + lines(5) + "# not about g\n\ndef g():\n" + lines(5)
    _, first, *_, last = chunks("a.py", text)
    assert (first.name, first.start_line) == ("f", 8)
    assert (last.name, last.start_line) == ("g", 16)


def method(name: str, line_count: int) -> str:
    return f"    def {name}(self):\n" + lines(line_count, " " * 8)


def test_a_class_keeps_its_head_and_its_methods_are_chunks_of_their_own() -> None:
    text = "class A:\n    '''All of it.'''\n\n" + lines(4) + "\n" + method("f", 9) + "\n" + method("g", 9)
    found = chunks("a.py", text)
    assert shape(found) == [("class", "A", 1, 8), ("method", "A.f", 9, 19), ("method", "A.g", 20, 29)]


def test_a_short_class_is_one_chunk() -> None:
    assert shape(chunks("a.py", "class A:\n" + method("f", 6) + method("g", 6))) == [("class", "A", 1, 15)]


def test_what_stands_between_the_methods_of_a_class_is_the_class() -> None:
    text = (
        "class A {\n  f() {\n"
        + "    x();\n" * 9
        + "  }\n"
        + "  static a = 1;\n" * 6
        + "  g() {\n"
        + "    y();\n" * 9
        + "  }\n}\n"
    )
    assert shape(chunks("a.js", text)) == [("method", "A.f", 1, 12), ("class", "A", 13, 18), ("method", "A.g", 19, 30)]


def test_a_closing_bracket_goes_with_what_it_closes() -> None:
    text = (
        "class A {\n"
        + "  static a = 1;\n" * 15
        + "  f() {\n"
        + "    x();\n" * 9
        + "  }\n\n}\n\nfunction g() {\n"
        + "  y();\n" * 9
        + "}\n"
    )
    assert shape(chunks("a.js", text)) == [("class", "A", 1, 16), ("method", "A.f", 17, 30), ("function", "g", 31, 41)]


def test_small_neighbours_become_one_chunk_with_all_their_names() -> None:
    text = "".join(f"def f{number}(): return {number}\n\n" for number in range(10))
    [chunk] = chunks("a.py", text)
    assert (chunk.kind, chunk.name) == ("definitions", "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9")


def test_a_long_function_is_cut_between_its_own_statements() -> None:
    block = "    if x:\n" + lines(34, " " * 8) + "    else:\n" + lines(34, " " * 8)
    found = chunks("a.py", "def f(x):\n    '''Says it.'''\n" + block * 3)
    assert [chunk.start_line for chunk in found] == [1, 73, 143]
    assert {(chunk.kind, chunk.name) for chunk in found} == {("function", "f")}


def test_a_comment_is_not_cut_off_from_what_it_is_about() -> None:
    found = chunks("a.py", "def f(x):\n" + "    # Again.\n    x += 1\n" * 100)
    assert len(found) == 2
    assert found[1].text.startswith("    # Again.\n")


def test_two_names_of_one_statement_stand_side_by_side() -> None:
    parsed = parse("a.js", b"const a = () => 1, b = () => 2;\n")
    assert [symbol.qualified_name for symbol in parsed.symbols] == ["a", "b"]


def test_what_is_defined_in_a_function_that_is_too_long_comes_out() -> None:
    inner = "    function inner() {\n" + "      x();\n" * 99 + "    }\n"
    found = chunks("a.js", "function outer() {\n" + inner + "  y();\n" * 60 + "}\n")
    assert [(chunk.qualified_name, chunk.start_line) for chunk in found] == [("outer.inner", 1), ("outer", 103)]


def test_no_chunk_of_many_lines_is_larger_than_the_limits() -> None:
    text = "".join(f"x_{number} = {'a' * 200!r}\n" for number in range(500)) + "def f():\n" + lines(1000)
    for chunk in chunks("a.py", text):
        assert len(chunk.text) <= 6000
        assert chunk.end_line - chunk.start_line + 1 <= 120


def test_text_without_a_grammar_is_cut_after_empty_lines() -> None:
    paragraph = "word\n" * 24 + "\n"
    found = chunks("a.hs", paragraph * 4)
    assert [(chunk.kind, chunk.start_line, chunk.end_line) for chunk in found] == [("lines", 1, 50), ("lines", 51, 100)]
