"""The compiled functions give the same results as those in Python, and refuse what they cannot read."""

from array import array
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inorder.code.definitions import RULES
from inorder.code.model import FileCalls
from inorder.code.parse import parse, parse_lines
from inorder.code.python_calls import Scope
from inorder.code.python_calls import encode_calls as encode_calls_in_python
from inorder.code.python_definitions import Definition
from inorder.code.python_definitions import find_definitions as find_definitions_in_python
from inorder.code.python_matches import Role, pack_spans
from inorder.code.python_matches import find_line as find_line_in_python
from inorder.code.python_matches import find_line_starts as find_line_starts_in_python
from inorder.code.python_matches import sort_matches as sort_matches_in_python
from tests.code.compiled import COMPILED, use_python
from tests.code.goldens import LANGUAGES, source_of
from tests.code.test_any_text import damaged, texts

try:
    from inorder.code._calls import encode_calls
    from inorder.code._definitions import find_definitions
    from inorder.code._matches import find_line, find_line_starts, sort_matches
    from inorder.code._pieces import group_lines
except ImportError:
    pass

pytestmark = COMPILED
LIMITS = (120, 60, 20, 5, 6000)


@pytest.fixture(autouse=True)
def _functions() -> None:
    """These tests choose the functions themselves."""


def check_same(name: str, data: bytes) -> None:
    compiled = parse(name, data), parse_lines(name, data, "why")
    with use_python():
        assert compiled == (parse(name, data), parse_lines(name, data, "why"))


@pytest.mark.req("IDX-1")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("times", [1, 20])
def test_a_file_gives_the_same_in_python(language: str, times: int) -> None:
    source = source_of(language)
    check_same(source.name, source.read_bytes() * times)


@pytest.mark.req("IDX-1")
def test_a_file_with_a_byte_order_mark_and_other_scripts_gives_the_same_in_python() -> None:
    data = "\ufeffé = größe('ä'); öffne(é).schließe()\r\ndef größe(x):\r    return ĳ(x, ß(x))\n".encode()
    check_same("a.py", data)
    assert [(call.callee, call.line, call.column) for call in parse("a.py", data).calls.decode()] == [
        ("größe", 1, 5),
        ("öffne", 1, 17),
        ("schließe", 1, 26),
        ("ĳ", 3, 12),
        ("ß", 3, 17),
    ]


@pytest.mark.req("IDX-1")
def test_only_the_first_part_of_a_long_definition_has_its_documentation() -> None:
    data = b'def f():\n    """Light the lamp."""\n' + b"    g()\n" * 300
    check_same("a.py", data)
    docs = [chunk.doc for chunk in parse("a.py", data).chunks]
    assert len(docs) > 2
    assert docs == ["Light the lamp.", *[""] * (len(docs) - 1)]


@pytest.mark.slow
@pytest.mark.req("IDX-1")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_a_damaged_file_gives_the_same_in_python(file: tuple[str, bytes]) -> None:
    check_same(*file)


@pytest.mark.req("IDX-1")
@settings(max_examples=100, deadline=None)
@given(st.sampled_from([source_of(language).name for language in LANGUAGES]), texts)
def test_any_text_gives_the_same_in_python(name: str, text: str) -> None:
    check_same(name, text.encode())


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"\xc3\xa9"])).map(b"".join))
def test_lines_start_at_the_same_places_in_python(data: bytes) -> None:
    starts = find_line_starts(data)
    assert starts == find_line_starts_in_python(data)
    for byte in range(-1, len(data) + 2):
        assert find_line(starts, byte) == find_line_in_python(starts, byte)


@pytest.mark.parametrize("arguments", [(), ([0], 0), (None, 0), (array("q", [0, 1]), None), (array("d", [0, 1]), 0)])
def test_a_line_of_what_is_not_an_array_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        find_line(*arguments)


LINES, CALL = array("q", [0, 1]), pack_spans([(0, 1)])


def make_node(start: int, end: int) -> Any:
    return SimpleNamespace(start_byte=start, end_byte=end)


ROLES = ("callee", "comment", "attached", "doc", "import", "definition.x")


@given(
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from(ROLES))).map(
        lambda found: [(place, role, 7 * number % 50) for number, (place, role) in enumerate(found)]
    )
)
def test_matches_are_sorted_as_in_python(found: list[tuple[int, str, int]]) -> None:
    numbers = {"callee": 0, "comment": 1, "attached": 300, "doc": 3, "import": 4, "definition.x": 5}
    matches = [(numbers[role], {role: [make_node(start, start + size)]}) for start, role, size in found]
    compiled_roles: dict[int, Role] = {}
    python_roles: dict[int, Role] = {}
    compiled = sort_matches(matches, compiled_roles, lambda nodes: (next(iter(nodes)), "", False))
    assert compiled == sort_matches_in_python(matches, python_roles, lambda nodes: (next(iter(nodes)), "", False))
    assert compiled_roles == python_roles


def test_calls_are_within_the_innermost_scope() -> None:
    data = b"a(b(c()))\nd()\n"
    scopes = [(0, 9, "outer"), (2, 8, "inner"), (10, 11, "other")]
    calls = [(0, 1), (2, 3), (4, 5), (8, 9), (10, 11), (12, 13)]
    arguments = (pack_spans(calls), scopes, array("q", [0, 10, 14]), data, 0)
    assert encode_calls(*arguments) == encode_calls_in_python(*arguments)
    callers = [call.caller for call in FileCalls(*encode_calls(*arguments), len(calls)).decode()]
    assert callers == ["outer", "inner", "inner", "outer", "other", ""]


TEXTS = st.one_of(st.text(max_size=300), st.sampled_from([31, 32, 255, 256, 65_535, 65_536]).map("x".__mul__))


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, st.integers(0, 2))), st.sampled_from([0, 1, 126, 254, 65_534]), TEXTS)
def test_texts_and_numbers_of_any_size_are_encoded_as_in_python(
    found: list[tuple[str, int]], lines: int, caller: str
) -> None:
    data, calls, scopes = b"\n" * lines, [], []
    for number, (name, gap) in enumerate(found):
        start = len(data) + gap * 40_000
        data = data.ljust(start, b" ") + name.encode("utf-8", "replace")
        calls.append((start, len(data)))
        if number % 3 == 0:
            scopes.append((start, len(data) + number, caller.encode("utf-8", "replace").decode() * (number % 2)))
    arguments = pack_spans(calls), scopes, find_line_starts(data + b"."), data + b".", 0
    assert encode_calls(*arguments) == encode_calls_in_python(*arguments)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65_535, 65_536])
def test_any_number_of_calls_is_encoded_as_in_python(count: int) -> None:
    data = b"f" * (count + 1)
    calls = [(at, at + 1) for at in range(count)]
    for scopes in ([], [(at, at + 1, str(at)) for at in range(count)]):
        arguments = pack_spans(calls), scopes, array("q", [0, len(data)]), data, 0
        assert encode_calls(*arguments) == encode_calls_in_python(*arguments)


def test_the_name_of_a_call_that_is_not_utf_8_is_replaced() -> None:
    arguments = array("q", [0, 2, 2, 4, 4, 5]), list[Scope](), array("q", [0, 5]), b"f\xe9f\xe8g", 0
    assert encode_calls(*arguments) == encode_calls_in_python(*arguments)
    assert encode_calls(*arguments)[2] == ["f\ufffd", "g"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ((), {}, id),
        ([()], {}, id),
        ([(0, None)], {}, id),
        ([("zero", {})], {}, id),
        ([(-1, {})], {}, id),
        ([(0, {})], {}, None),
        ([(0, {})], {}, id),
        ([(0, {})], {0: "callee"}, id),
        ([(0, {})], {0: ()}, id),
        ([(0, {})], {0: ("callee", "", False)}, id),
        ([(0, {"callee": []})], {0: ("callee", "", False)}, id),
        ([(0, {"callee": [None]})], {0: ("callee", "", False)}, id),
        ([(0, {"callee": [make_node(0, None)]})], {0: ("callee", "", False)}, id),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_a_match_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, KeyError, AttributeError, OverflowError)):
        sort_matches(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (pack_spans([]), (), LINES, b"a", 0),
        ([(0, 1)], [], LINES, b"a", 0),
        (array("l", [0, 1]), [], LINES, b"a", 0),
        (b"", [], LINES, b"a", 0),
        (CALL, [], [0, 1], b"a", 0),
        (CALL, [], array("q", [0]), b"a", 0),
        (CALL, [], array("q"), b"a", 0),
        (CALL, [], array("q", [0, 2]), b"a", 0),
        (CALL, [], array("q", [1, 0]), b"a", 0),
        (pack_spans([(5, 6)]), [], LINES, b"a", 0),
        (pack_spans([(0, 9)]), [], LINES, b"a", 0),
        (pack_spans([(1, 0)]), [], LINES, b"a", 0),
        (pack_spans([(-1, 0)]), [], LINES, b"a", 0),
        (CALL, [(0, 1)], LINES, b"a", 0),
        (CALL, [None], LINES, b"a", 0),
        (CALL, [(0, None, "f")], LINES, b"a", 0),
        (CALL, [(0, 1, 2)], LINES, b"a", 0),
        (CALL, [], LINES, b"a", None),
    ],
)
def test_calls_that_are_not_in_the_file_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)):
        encode_calls(*arguments)


ROLE = ("definition.function", "function", True)
SOURCE = st.lists(
    st.sampled_from(
        ["\n", "\r\n", "  ", "\x1c", "\x85", "# why", "größe", "a", "b_2", "a::b", "'q'", "class", "{", ":", "é" * 150]
    ),
    max_size=60,
).map("".join)


@st.composite
def files_with_matches(draw: st.DrawFn) -> Any:
    """The arguments of `find_definitions` for a file: matches and spans at any places, as far as they are in order."""
    data = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + draw(SOURCE).encode()
    span = st.tuples(st.integers(0, len(data)), st.integers(0, len(data))).map(lambda pair: (min(pair), max(pair)))
    place = span.map(lambda pair: make_node(*pair))
    roles = {
        0: ("definition.class", "class", True),
        1: ROLE,
        2: ("symbol.field", "field", False),
        3: ("definition.section", "section", True),
    }
    matches = []
    for pattern in draw(st.lists(st.integers(0, 3), max_size=20)):
        node, body = draw(place), draw(st.none() | place)
        node.child_by_field_name = {"body": body}.get
        nodes = {roles[pattern][0]: [node], "name": [draw(place)]}
        for name in draw(st.sets(st.sampled_from(["owner", "body"]))):
            nodes[name] = [draw(place)]
        if draw(st.integers(0, 9)) == 0:
            del nodes["name"]
        matches.append((pattern, nodes))
    comments, attached, docs = (
        pack_spans(sorted(dict(draw(st.lists(span.filter(lambda pair: pair[1] > pair[0]), max_size=6))).items()))
        for _ in range(3)
    )
    text_start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    rules = RULES._replace(depth_max=draw(st.sampled_from([1, 16])), signature_characters_max=400)
    return matches, roles, comments, attached, docs, find_line_starts(data), data, text_start, rules, Definition


@pytest.mark.req("IDX-1")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files_with_matches())
def test_definitions_are_found_as_in_python(arguments: Any) -> None:
    compiled, expected = find_definitions(*arguments), find_definitions_in_python(*arguments)
    assert [msgspec.structs.astuple(each) for each in compiled] == [msgspec.structs.astuple(each) for each in expected]


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, ()),
        (0, [None]),
        (0, [(0, None)]),
        (0, [(1, {"name": [make_node(0, 1)]})]),
        (0, [([], {"name": [make_node(0, 1)]})]),
        (0, [(0, {"name": [make_node(0, 1)]})]),
        (0, [(0, {"name": [make_node(0, 9)], "definition.function": [make_node(0, 1)]})]),
        (0, [(0, {"name": [make_node(0, 1)], "definition.function": [make_node(0, 1)]})]),
        (0, [(0, {"name": [None], "definition.function": [make_node(0, 1)]})]),
        (1, {0: "function"}),
        (1, {0: ("definition.function", "function")}),
        (2, [(0, 1)]),
        (2, pack_spans([(0, 9)])),
        (3, pack_spans([(1, 0)])),
        (4, pack_spans([(-1, 0)])),
        (4, None),
        (5, array("q")),
        (5, array("q", [0, 9])),
        (5, array("q", [1, 0])),
        (5, array("d", [0])),
        (5, [0, 3]),
        (6, "text"),
        (7, -1),
        (8, RULES._replace(class_kinds=())),  # type: ignore[arg-type]
        (8, RULES._replace(signature_characters_max=-1)),
        (8, RULES._replace(join_signature=None)),  # type: ignore[arg-type]
        (8, RULES._replace(join_signature=len)),  # type: ignore[arg-type]
        (8, RULES._replace(split_name=max)),  # type: ignore[arg-type]
        (8, ()),
        (9, None),
    ],
)
def test_definitions_that_cannot_be_read_are_refused(position: int, value: Any) -> None:
    node, name = make_node(0, 3), make_node(0, 2)
    node.child_by_field_name = {}.get
    matches = [(0, {"definition.function": [node], "name": [name]})]
    none, lines = pack_spans([]), array("q", [0, 3])
    given: list[Any] = [matches, {0: ROLE}, none, none, none, lines, "é.".encode(), 0, RULES, Definition]
    if position == 8 and value and value.split_name is max:
        name.end_byte = 3
    find_definitions(*given)
    given[position] = value
    with pytest.raises((TypeError, ValueError, KeyError, AttributeError)):
        find_definitions(*given)


def make_definition(**changed: Any) -> Any:
    given = {"line": 1, "last_line": 1, "leading_line": 1, "has_chunk": True, "kind": "function"}
    return SimpleNamespace(**(given | changed))


def refuse(pieces: list[Any]) -> list[Any]:
    raise AssertionError(pieces)


@pytest.mark.parametrize(
    ("definitions", "starts", "data"),
    [
        ((), LINES, b"a"),
        ([], array("q", [0, 2]), b"a"),
        ([], array("q", [0, 1, 0]), b"a"),
        ([], [0, 1], b"a"),
        ([], LINES, "a"),
        ([None], LINES, b"a"),
        ([make_definition(line=0)], LINES, b"a"),
        ([make_definition(last_line=2)], LINES, b"a"),
        ([make_definition(leading_line=0)], LINES, b"a"),
        ([make_definition(line=None)], LINES, b"a"),
        ([make_definition(kind=[])], LINES, b"a"),
    ],
)
def test_definitions_that_are_not_in_the_file_are_refused(definitions: Any, starts: Any, data: Any) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        group_lines(definitions, starts, data, refuse, frozenset(["function"]), LIMITS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ranges",
    [
        None,
        [],
        [None],
        [[(1, 50)]],
        [[(1, 100)]] * 2,
        [[(2, 100)]],
        [[(1, 101)]],
        [[(1, 50), (52, 100)]],
        [[(1, None)]],
    ],
)
def test_ranges_that_do_not_cover_a_long_piece_are_refused(ranges: Any) -> None:
    starts = array("q", range(0, 202, 2))
    with pytest.raises((TypeError, ValueError)):
        group_lines([], starts, b"a\n" * 100, lambda pieces: ranges, frozenset(), LIMITS)  # type: ignore[arg-type]
