"""The columns that a JSON Schema makes, and answers in them."""

from typing import Any

import pytest

from inorder.documents.extract.columns import find_misfit, make_column, make_fields
from inorder.documents.extract.settings import ExtractSettings
from inorder.errors import OperatorError
from inorder.models.schema import Schema

pytestmark = pytest.mark.req("MOD-1")


def describe(document: Any) -> dict[str, str]:
    """The type of each column."""
    return {name: str(kind) for name, kind in make_fields(Schema(document))}


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ({"type": "string"}, "string"),
        ({"type": "number"}, "double"),
        ({"type": ["integer", "null"]}, "int64"),
        ({"type": "boolean"}, "bool"),
        ({"enum": ["EUR", "USD"]}, "string"),
        ({"const": "EUR"}, "string"),
        ({"enum": [1, "x"]}, "string"),
        ({"type": ["string", "number"]}, "string"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "double"),
        ({"anyOf": [{"type": "number"}, {"type": "string"}]}, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "list<element: int64>"),
        ({"type": "array"}, "string"),
        ({"type": "object"}, "string"),
        ({"type": "object", "properties": {"a": {"type": "number"}}}, "struct<a: double>"),
        ({"$ref": "#/$defs/money"}, "double"),
        (True, "string"),
    ],
)
def test_a_field_has_the_type_of_its_schema_or_is_json(field: Any, kind: str) -> None:
    found = describe({"type": "object", "properties": {"x": field}, "$defs": {"money": {"type": "number"}}})
    assert found == {"x": kind.replace("element", "item") if "item" in found["x"] else kind}


def test_a_schema_that_is_within_itself_ends() -> None:
    tree = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "name": {"type": "string"}},
    }
    assert describe(tree) == {"left": "string", "right": "string", "name": "string"}


def test_an_answer_that_is_no_object_is_one_column() -> None:
    assert describe({"type": "array", "items": {"type": "string"}}).keys() == {"value"}
    assert describe({"type": "number"}) == {"value": "double"}


def test_a_field_with_the_name_of_a_place_is_refused() -> None:
    with pytest.raises(OperatorError, match="'pages' has the name of a column"):
        make_fields(Schema({"type": "object", "properties": {"pages": {"type": "number"}}}))


def test_values_that_have_no_type_of_their_own_are_json_text_and_missing_ones_are_null() -> None:
    fields = dict(make_fields(Schema({"type": "object", "properties": {"x": {}, "n": {"type": "integer"}}})))
    answers = [{"x": {"b": 1, "a": "ü"}, "n": 3.0}, {"x": "text"}, {"x": None}]
    assert make_column(answers, "x", fields["x"]).to_pylist() == ['{"a": "ü", "b": 1}', "text", None]
    assert make_column(answers, "n", fields["n"]).to_pylist() == [3, None, None]


def test_a_number_that_does_not_fit_its_column_is_a_reason_to_ask_again() -> None:
    fields = make_fields(Schema({"type": "object", "properties": {"n": {"type": "integer"}}}))
    assert find_misfit({"n": 2**63 - 1}, fields) == ""
    assert find_misfit({"n": 2**63}, fields).startswith("n does not fit its column")


@pytest.mark.parametrize(
    ("where", "item_id", "is_chosen"),
    [
        ((), "docs/a.md", True),
        (("path:invoices/**",), "docs/invoices/2024/a.pdf", True),
        (("path:docs/invoices/*",), "docs/invoices/a.pdf", True),
        (("path:invoices/**",), "docs/other/invoices.pdf", False),
        (("path:a/*", "path:b/*"), "docs/b/x.md", True),
        (("path:a/*", "type:pdf"), "docs/a/x.md", False),
        (("type:.PDF",), "docs/a/x.pdf", True),
        (("source:docs",), "docs/a.md", True),
        (("source:doc",), "docs/a.md", False),
        (("path:a.md",), "a.md", True),
    ],
)
def test_conditions_of_one_kind_are_alternatives_and_kinds_are_all_met(
    where: tuple[str, ...], item_id: str, is_chosen: bool
) -> None:
    settings = ExtractSettings(name="x", schema="{}", model="http://localhost#m", where=where)
    assert settings.is_chosen(item_id) == is_chosen
