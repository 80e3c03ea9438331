"""JSON Schema, as far as answers need it: a schema is checked once, and values against it.

A schema that is not understood whole is refused, because a keyword that is ignored would accept a wrong answer. A
reference leads into the schema itself: nothing is loaded from elsewhere. A pattern of a user can take forever on the
text of a model, and Python cannot end it. So patterns are matched in a child process, which is killed when one takes
too long.
"""

import json
import math
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from inorder.errors import OperatorError, require

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "number": (int, float),
    "integer": (int, float),
}
_NOTES = frozenset(
    ("$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "format")
)
"""Keywords that accept every value."""
_DEPTH_MAX = 64
_PATTERN_S = 2.0
_SHOWN = 80
_CHILD = """
import json, re, sys
for line in sys.stdin:
    pattern, text = json.loads(line)
    print(int(re.search(pattern, text) is not None), flush=True)
"""
Location = tuple[str | int, ...]


class PatternMatcher:
    """Matches patterns in a child process. Used by one thread; close it in the end."""

    def __init__(self, limit_s: float = _PATTERN_S) -> None:
        self._limit_s = limit_s
        self._child: subprocess.Popen[str] | None = None

    def matches(self, pattern: str, text: str) -> bool:
        """Whether a pattern is found in a text. Raises TimeoutError if that takes too long."""
        if self._child is None:
            arguments = [sys.executable, "-I", "-S", "-c", _CHILD]
            self._child = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        child = self._child
        if child.stdin is None or child.stdout is None:
            raise ValueError("the child has no pipes")
        child.stdin.write(json.dumps([pattern, text]) + "\n")
        child.stdin.flush()
        if not select.select([child.stdout], [], [], self._limit_s)[0]:
            self.close()
            raise TimeoutError(f"the pattern {pattern[:_SHOWN]!r} takes longer than {self._limit_s:g} s")
        return child.stdout.readline() == "1\n"

    def close(self) -> None:
        """End the child. Idempotent."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


class Schema:
    """A JSON Schema.

    >>> Schema({"type": "object", "properties": {"total": {"type": "number"}}}).find_problem({"total": "9"})
    'total must be a number, and is "9"'

    Raises:
        OperatorError: It is no schema, or has what is not supported. The message says where.
    """

    def __init__(self, document: Any) -> None:
        self.document = document
        for location, part in self._walk(document, ()):
            _check_part(self, part, "/".join(map(str, location)) or "the schema")

    def find_problem(self, value: Any, matches: Callable[[str, str], bool] | None = None) -> str:
        """Return why a value does not have this schema; empty: it has. `matches` is that of a `PatternMatcher`, which
        lives as long as this call if none is given."""
        if matches is not None:
            return self._find(self.document, value, (), matches, 0)
        matcher = PatternMatcher()
        try:
            return self._find(self.document, value, (), matcher.matches, 0)
        finally:
            matcher.close()

    def resolve(self, part: Any) -> Any:
        """Return what a schema refers to, or the schema itself."""
        for _ in range(_DEPTH_MAX):
            if not isinstance(part, dict) or "$ref" not in part:
                return part
            reference = part["$ref"]
            if not isinstance(reference, str) or not reference.startswith("#"):
                raise OperatorError(f"$ref {str(reference)[:_SHOWN]!r} is refused: nothing is loaded from elsewhere")
            part = self.document
            for name in reference[1:].strip("/").split("/") if reference != "#" else ():
                name = name.replace("~1", "/").replace("~0", "~")
                if not isinstance(part, dict) or name not in part:
                    raise OperatorError(f"$ref {reference[:_SHOWN]!r} leads nowhere")
                part = part[name]
        raise OperatorError("$ref leads to itself")

    def _walk(self, part: Any, location: Location) -> Iterator[tuple[Location, Any]]:
        """Yield all schemas in a schema."""
        require(len(location) <= _DEPTH_MAX, "the schema is nested too deeply")
        yield location, part
        if not isinstance(part, dict):
            return
        for key in ("properties", "patternProperties", "$defs", "definitions"):
            for name, each in _require_mapping(part, key).items():
                yield from self._walk(each, (*location, key, name))
        for key in ("allOf", "anyOf", "oneOf", "prefixItems"):
            for number, each in enumerate(_require_list(part, key)):
                yield from self._walk(each, (*location, key, number))
        for key in ("items", "not", "additionalProperties", "contains"):
            if key in part:
                yield from self._walk(part[key], (*location, key))

    def _find(self, part: Any, value: Any, location: Location, matches: Callable[[str, str], bool], depth: int) -> str:
        if depth > _DEPTH_MAX:
            return f"{_spell(location)} is nested too deeply"
        part = self.resolve(part)
        if isinstance(part, bool):
            return "" if part else f"{_spell(location)} must not be there"
        for key, check in _CHECKS.items():
            if key in part and (problem := check(part[key], value, matches)):
                return f"{_spell(location)} {problem}"
        below = list(self._list_parts(part, value, location))
        if isinstance(value, dict):
            known = part.get("properties", {})
            for name in value:
                patterns = [each for each in part.get("patternProperties", {}) if matches(each, name)]
                below += [(part["patternProperties"][each], value[name], (*location, name)) for each in patterns]
                if name not in known and not patterns and "additionalProperties" in part:
                    below.append((part["additionalProperties"], value[name], (*location, name)))
        for each, inner, where in below:
            if problem := self._find(each, inner, where, matches, depth + 1):
                return problem
        return self._find_combined(part, value, location, matches, depth)

    def _list_parts(self, part: Mapping[str, Any], value: Any, location: Location) -> Iterator[Any]:
        for each in part.get("allOf", ()):
            yield each, value, location
        if isinstance(value, dict):
            for name, each in part.get("properties", {}).items():
                if name in value:
                    yield each, value[name], (*location, name)
        elif isinstance(value, list):
            first = part.get("prefixItems", [])
            for number, inner in enumerate(value):
                if number < len(first):
                    yield first[number], inner, (*location, number)
                elif "items" in part:
                    yield part["items"], inner, (*location, number)

    def _find_combined(
        self, part: Mapping[str, Any], value: Any, location: Location, matches: Callable[[str, str], bool], depth: int
    ) -> str:
        for key, most in (("anyOf", None), ("oneOf", 1)):
            if key in part:
                problems = [self._find(each, value, location, matches, depth + 1) for each in part[key]]
                right = problems.count("")
                if not right:
                    return "; or ".join(problems[:3])
                if most is not None and right > most:
                    return f"{_spell(location)} has more than one form of {key}"
        if "not" in part and not self._find(part["not"], value, location, matches, depth + 1):
            return f"{_spell(location)} has a form that is excluded"
        return ""


def _check_part(schema: Schema, part: Any, where: str) -> None:
    if isinstance(part, bool):
        return
    require(isinstance(part, dict), f"{where}: a schema must be an object, got {_show(part)}")
    schema.resolve(part)
    for key in part:
        require(key in _NOTES or key in _CHECKS or key in _STRUCTURE, f"{where}: the keyword {key!r} is not supported")
    types = part.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        require(isinstance(name, str) and name in _TYPES, f"{where}: {_show(name)} is no type")
    for pattern in [*([part["pattern"]] if "pattern" in part else []), *part.get("patternProperties", {})]:
        try:
            re.compile(pattern)
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise OperatorError(f"{where}: the pattern {_show(pattern)} is invalid: {error}") from None


def _is_type(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _check_type(types: Any, value: Any, _: object) -> str:
    names = [types] if isinstance(types, str) else types
    return (
        "" if any(_is_type(name, value) for name in names) else f"must be {_name_types(names)}, and is {_show(value)}"
    )


def _name_types(names: list[str]) -> str:
    return " or ".join(f"{'an' if name[0] in 'aio' else 'a'} {name}" if name != "null" else name for name in names)


def _check_enum(values: Any, value: Any, _: object) -> str:
    is_known = any(_equals(each, value) for each in values)
    return "" if is_known else f"must be one of {_show(values)}, and is {_show(value)}"


def _equals(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _check_required(names: Any, value: Any, _: object) -> str:
    missing = [name for name in names if name not in value] if isinstance(value, dict) else []
    return f"lacks {', '.join(missing)}" if missing else ""


def _check_pattern(pattern: Any, value: Any, matches: Callable[[str, str], bool]) -> str:
    if not isinstance(value, str):
        return ""
    try:
        return "" if matches(pattern, value) else f"must have the pattern {_show(pattern)}, and is {_show(value)}"
    except TimeoutError as error:
        return f"cannot be checked: {error}"


def _check_multiple(step: Any, value: Any, _: object) -> str:
    if not _is_type("number", value):
        return ""
    quotient = value / step
    is_multiple = math.isfinite(quotient) and abs(quotient - round(quotient)) < 1e-9
    return "" if is_multiple else f"must be a multiple of {step}, and is {_show(value)}"


def _check_unique(is_unique: Any, value: Any, _: object) -> str:
    if not is_unique or not isinstance(value, list):
        return ""
    seen = [json.dumps(each, sort_keys=True) for each in value]
    return "has the same item twice" if len(set(seen)) < len(seen) else ""


def _limit(kind: str, measure: Callable[[Any], Any], is_right: Callable[[Any, Any], bool], words: str) -> Any:
    def check(limit: Any, value: Any, _: object) -> str:
        if not _is_type(kind, value) or is_right(measure(value), limit):
            return ""
        return f"{words.format(limit)}, and {'is' if kind == 'number' else 'has'} {measure(value)}"

    return check


_CHECKS: dict[str, Callable[[Any, Any, Any], str]] = {
    "type": _check_type,
    "enum": _check_enum,
    "const": lambda expected, value, matches: _check_enum([expected], value, matches),
    "required": _check_required,
    "pattern": _check_pattern,
    "multipleOf": _check_multiple,
    "uniqueItems": _check_unique,
    "minimum": _limit("number", lambda value: value, lambda value, limit: value >= limit, "must be at least {}"),
    "maximum": _limit("number", lambda value: value, lambda value, limit: value <= limit, "must be at most {}"),
    "exclusiveMinimum": _limit("number", lambda value: value, lambda value, limit: value > limit, "must be above {}"),
    "exclusiveMaximum": _limit("number", lambda value: value, lambda value, limit: value < limit, "must be below {}"),
    "minLength": _limit("string", len, lambda size, limit: size >= limit, "must have at least {} characters"),
    "maxLength": _limit("string", len, lambda size, limit: size <= limit, "must have at most {} characters"),
    "minItems": _limit("array", len, lambda size, limit: size >= limit, "must have at least {} items"),
    "maxItems": _limit("array", len, lambda size, limit: size <= limit, "must have at most {} items"),
    "minProperties": _limit("object", len, lambda size, limit: size >= limit, "must have at least {} fields"),
    "maxProperties": _limit("object", len, lambda size, limit: size <= limit, "must have at most {} fields"),
}
_STRUCTURE = frozenset(
    (
        *("$ref", "properties", "patternProperties", "additionalProperties", "items", "prefixItems"),
        *("allOf", "anyOf", "oneOf", "not"),
    )
)


def _require_mapping(part: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = part.get(key, {})
    require(isinstance(found, dict), f"{key} must be an object, got {_show(found)}")
    return dict(found)


def _require_list(part: Mapping[str, Any], key: str) -> list[Any]:
    found = part.get(key, [])
    require(isinstance(found, list), f"{key} must be an array, got {_show(found)}")
    return list(found)


def _spell(location: Location) -> str:
    return ".".join(map(str, location)) or "it"


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
