"""The columns of a table of extracted fields: the types of a JSON Schema as those of Arrow.

A field of an object is a column. What has no type of its own, such as a value of several types, is JSON text.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from inorder.errors import require
from inorder.models.schema import Schema

PLACE_COLUMNS = ("doc_id", "part", "section_path", "pages", "chunk_id")
"""The columns that say where a row was found."""
VALUE = "value"
"""The column of answers that are no objects."""
_SIMPLE = {"string": "string", "number": "float64", "integer": "int64", "boolean": "bool"}


def make_fields(schema: Schema) -> list[tuple[str, Any]]:
    """Return the names and the Arrow types of the columns of a schema. Raises OperatorError if a field has the name of
    a column that says where a row was found."""
    import pyarrow as pa

    kind = _make_type(schema, schema.document, ())
    if not pa.types.is_struct(kind):
        return [(VALUE, kind)]
    fields = [(field.name, field.type) for field in kind]
    for name, _ in fields:
        require(name not in PLACE_COLUMNS, f"the field {name!r} has the name of a column of the table; rename it")
    return fields


def make_column(values: list[Any], name: str, kind: Any) -> Any:
    """Return the column of a field of these answers as an Arrow array."""
    import pyarrow as pa

    found = [value.get(name) if isinstance(value, dict) else value for value in values]
    return pa.array([_convert(each, kind) for each in found], kind)


def find_misfit(value: Any, fields: list[tuple[str, Any]]) -> str:
    """Return why an answer cannot be stored, or does not fit the columns; empty: it can, and does."""
    import pyarrow as pa

    try:
        msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError, RecursionError) as error:
        return f"it cannot be stored: {error}"
    for name, kind in fields:
        try:
            make_column([value], name, kind)
        except (pa.ArrowException, OverflowError, ValueError, TypeError, RecursionError) as error:
            return f"{name} does not fit its column: {error}"
    return ""


def _make_type(schema: Schema, part: Any, above: tuple[int, ...]) -> Any:
    """The type of a part of a schema. One that is within itself is JSON text."""
    import pyarrow as pa

    part = schema.resolve(part)
    if not isinstance(part, dict) or id(part) in above:
        return pa.string()
    above = (*above, id(part))
    part = _choose_form(schema, part)
    kind = _name_type(part)
    properties = part.get("properties")
    if kind == "object" and isinstance(properties, Mapping) and properties:
        return pa.struct([(name, _make_type(schema, each, above)) for name, each in properties.items()])
    if kind == "array" and "items" in part:
        return pa.list_(_make_type(schema, part["items"], above))
    return pa.type_for_alias(_SIMPLE[kind]) if kind in _SIMPLE else pa.string()


def _choose_form(schema: Schema, part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one form of several that is not null, if there is one."""
    for key in ("anyOf", "oneOf"):
        forms = [found for each in part.get(key, ()) if _name_type(found := schema.resolve(each)) != "null"]
        if len(forms) == 1 and isinstance(forms[0], Mapping) and "type" not in part:
            return forms[0]
    return part


def _name_type(part: Any) -> str:
    """The type of a value, besides null; empty: there are several, or none is named."""
    if not isinstance(part, Mapping):
        return ""
    types = part.get("type", "")
    names = [types] if isinstance(types, str) else list(types)
    values = part.get("enum", [part["const"]] if "const" in part else None)
    if not names[0] and isinstance(values, list) and all(isinstance(each, str) for each in values):
        return "string"
    named = [name for name in names if name != "null"]
    return named[0] if len(named) == 1 else "null" if names == ["null"] else ""


def _convert(value: Any, kind: Any) -> Any:
    """Return a value as its column has it: as JSON text, if the column is text and the value is not."""
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return {field.name: _convert(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind) and isinstance(value, list):
        return [_convert(each, kind.value_type) for each in value]
    if pa.types.is_integer(kind) and isinstance(value, float):
        return int(value)
    return value
