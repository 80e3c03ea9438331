"""Every call has its place, and the innermost definition that encloses it."""

import msgspec
import pytest

from inorder.code.calls import find_calls
from inorder.code.definitions import Definition
from inorder.code.parse import parse
from inorder.code.source import Source
from inorder.index.calls import pack_calls


def make_definition(start: int, end: int, name: str, *, has_chunk: bool = True) -> Definition:
    return Definition("function", has_chunk, start, end, name, "", -1, qualified_name=name)


@pytest.mark.req("IDX-1")
def test_calls_are_within_the_innermost_definition_that_has_a_chunk() -> None:
    definitions = [
        make_definition(0, 9, "outer"),
        make_definition(2, 8, "inner"),
        make_definition(4, 5, "symbol", has_chunk=False),
        make_definition(10, 11, "other"),
    ]
    spans = [(0, 1), (2, 3), (4, 5), (8, 9), (10, 11), (12, 13)]
    found = find_calls(spans, definitions, Source(b"a(b(c()))\nd()\n"))
    assert [call.caller for call in found] == ["outer", "inner", "inner", "outer", "other", ""]


@pytest.mark.req("IDX-1")
def test_columns_count_characters_after_a_byte_order_mark_and_in_other_scripts() -> None:
    data = "\ufeffé = größe('ä'); öffne(é).schließe()\r\ndef größe(x):\r    return ĳ(x, ß(x))\n".encode()
    assert [(call.callee, call.line, call.column) for call in parse("a.py", data).calls] == [
        ("größe", 1, 5),
        ("öffne", 1, 17),
        ("schließe", 1, 26),
        ("ĳ", 3, 12),
        ("ß", 3, 17),
    ]


def test_a_name_that_is_called_often_is_listed_once() -> None:
    assert pack_calls(parse("a.py", b"b()\na()\nb()\n").calls).callees == ["b", "a"]


def test_consecutive_calls_of_one_caller_are_a_group() -> None:
    data = b"a()\nb()\ndef f():\n    c()\nd()\n"
    groups = msgspec.msgpack.decode(pack_calls(parse("a.py", data).calls).data)
    assert groups == [["", [["a", 1, 1], ["b", 2, 1]]], ["f", [["c", 4, 5]]], ["", [["d", 5, 1]]]]
    assert pack_calls(parse("a.py", b"x = 1\n").calls).data == b""
