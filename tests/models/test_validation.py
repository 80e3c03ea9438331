"""What models get wrong is found, and what stands in a document is not taken for it."""

import pytest

from inorder.models.answers import Answer
from inorder.models.schema import Schema
from inorder.models.validation import check_text, find_loop, make_page_check, make_schema_check, sanitize

pytestmark = pytest.mark.req("MOD-4")

NATIVE = " ".join(f"lantern{chr(97 + n % 26)}{chr(97 + n // 26)} burns brightly" for n in range(60))


def make(text: str, finish_reason: str = "stop") -> Answer:
    return Answer(text=text, tokens_in=10, tokens_out=20, finish_reason=finish_reason, model="m", seconds=0.1)


@pytest.mark.parametrize(
    ("text", "finish_reason", "reason"),
    [
        ("", "stop", "it is empty"),
        (" \n\t", "stop", "it is empty"),
        ("A text", "length", "it is cut off after 20 tokens"),
        ("I'm sorry, but I can't assist with that.", "stop", "it is a refusal: I'm sorry, but I can't assist"),
        ("As an AI model, I do not read scans.", "stop", "it is a refusal"),
        ("whatever", "content_filter", "it is a refusal"),
        ("Title\n" + "the same line\n" * 40, "stop", "it repeats 'the same line'"),
        ("Title\n" + "one line\nand another\n" * 15, "stop", "it repeats 'one line and another'"),
        ("Title " + "ha" * 400, "stop", "it repeats"),
    ],
)
def test_an_answer_that_is_of_no_use_has_a_reason(text: str, finish_reason: str, reason: str) -> None:
    assert check_text(make(text, finish_reason)).startswith(reason)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry to hear of the fire, wrote the keeper of the lighthouse. " * 7 + "The end.",
        "| name | value |\n| --- | --- |\n" + "".join(f"| row {n} | 0 |\n" for n in range(50)),
        "yes\n" * 9,
        "." * 2000,
        "0 0 0 0 " * 200,
        "A",
    ],
    ids=["a letter", "a table", "few repetitions", "a leader", "a grid of numbers", "a letter of the alphabet"],
)
def test_what_stands_in_documents_is_accepted(text: str) -> None:
    assert check_text(make(text)) == ""


def test_a_loop_that_was_cut_in_the_middle_is_found() -> None:
    assert find_loop("The page.\n" + "the lamp is lit and\n" * 30 + "the lam") is not None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (NATIVE, ""),
        (NATIVE.upper().replace("BURNS", "**burns**"), ""),
        (" ".join(NATIVE.split()[:20]), "it has 20 words, and the text layer of the page 180"),
        (
            " ".join(f"la lampe{chr(97 + n % 26)} brille toujours" for n in range(60)),
            "it has 0% of the words in the text layer of the page: it is in another language, or of another page",
        ),
    ],
    ids=["the page", "marked up", "a part", "another language"],
)
def test_an_answer_is_compared_with_the_text_layer_of_its_page(text: str, reason: str) -> None:
    assert make_page_check(NATIVE)(make(text)) == reason


def test_without_a_text_layer_every_language_is_accepted() -> None:
    assert make_page_check("12 33")(make("la lampe brille")) == ""


# ---- Schemas

INVOICE = {
    "type": "object",
    "properties": {
        "number": {"type": "string", "pattern": "^[A-Z]{2}\\d+$"},
        "total": {"type": "number", "minimum": 0},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "maxItems": 3},
        "currency": {"enum": ["EUR", "USD"]},
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
    },
    "required": ["number", "total"],
    "additionalProperties": False,
    "$defs": {"line": {"type": "object", "properties": {"price": {"type": "integer"}}, "required": ["price"]}},
}


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"number": "AB1", "total": 3.5, "lines": [{"price": 3.0}], "currency": "EUR", "note": null}', ""),
        ('```json\n{"number": "AB1", "total": 3}\n```', ""),
        ('{"number": "AB1"}', "in it, it lacks total"),
        ('{"number": "AB1", "total": "3"}', 'in it, total must be a number, and is "3"'),
        ('{"number": "AB1", "total": true}', "in it, total must be a number, and is true"),
        ('{"number": "AB1", "total": -1}', "in it, total must be at least 0, and is -1"),
        ('{"number": "x", "total": 1}', 'in it, number must have the pattern "^[A-Z]{2}\\\\d+$", and is "x"'),
        ('{"number": "AB1", "total": 1, "lines": [{"price": 0.5}]}', "in it, lines.0.price must be an integer"),
        ('{"number": "AB1", "total": 1, "lines": [{}]}', "in it, lines.0 lacks price"),
        ('{"number": "AB1", "total": 1, "currency": "GBP"}', "in it, currency must be one of"),
        ('{"number": "AB1", "total": 1, "note": "too long"}', "in it, note must have at most 5 characters, and has 8"),
        ('{"number": "AB1", "total": 1, "other": 1}', "in it, other must not be there"),
        ("[1]", "in it, it must be an object, and is [1]"),
        ('{"number": "AB1", "total": NaN}', "it is no JSON: NaN is no value"),
        ('{"number": "AB1"', "it is no JSON"),
        ("", "it is empty"),
        ("[" * 100_000, "it is no JSON: it is nested too deeply"),
        ("I cannot help with that.", "it is a refusal"),
    ],
)
def test_an_answer_is_checked_against_the_whole_schema(text: str, reason: str) -> None:
    found = make_schema_check(Schema(INVOICE))(make(text))
    assert found.startswith(reason) if reason else found == ""


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "http://h/schema.json"}, r"\$ref 'http://h/schema.json' is refused: nothing is loaded"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "is refused"),
        ({"$ref": "#/$defs/a"}, "leads nowhere"),
        ({"$ref": "#"}, "leads to itself"),
        ({"if": {}}, "the keyword 'if' is not supported"),
        ({"type": "text"}, '"text" is no type'),
        ({"pattern": "("}, "the pattern .* is invalid"),
        ([], "a schema must be an object"),
    ],
)
def test_a_schema_that_is_not_understood_whole_is_a_usage_error(schema: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schema(schema)


@pytest.mark.process
def test_a_pattern_that_takes_forever_is_given_up() -> None:
    schema = Schema({"type": "string", "pattern": "^(a+)+$"})
    assert "takes longer than 2 s" in schema.find_problem("a" * 40 + "b")


# ---- Foreign text


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("# Title\n\n| a | b |", "# Title\n\n| a | b |"),
        ("see ![a lamp](http://evil/x.png?secret) here", "see a lamp here"),
        ("![a][1]\n\n[1]: http://evil/x.png", "a\n\n"),
        ("[click](javascript:alert(1)) now", "click) now"),
        ("a <https://evil/> b", "a  b"),
        ('x <script src="http://evil">bad()</script> y', "x  y"),
        ("x <script>never closed", "x "),
        ('<img src="http://evil/p.gif" onerror=alert(1)>text', "text"),
        ('<td colspan="2" onclick="x()">1</td>', '<td colspan="2">1</td>'),
        ("a\x00b\u202ec", "abc"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ],
)
def test_nothing_that_loads_or_runs_is_left_in_the_text_of_a_model(text: str, clean: str) -> None:
    assert sanitize(text) == clean
