"""Names of files that are not valid Unicode, in encodings that need valid Unicode.

Python decodes such bytes to surrogates. Here, a surrogate is written as a NUL and four digits: no path has a NUL, so
every string can be restored.
"""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

Fields = TypeVar("Fields", bound=msgspec.Struct)
_MARK = "\0"
_ODD = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile("\0([0-9a-f]{4})")


def escape_fields(value: Fields) -> Fields:
    """Return a struct with all of its strings escaped."""
    return _replace(value, lambda text: _ODD.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text))


def restore_fields(value: Fields, text: str) -> Fields:
    """Return the struct that `escape_fields` was called with, if this text, which is one of its strings, has a mark of
    it; or the struct as it is."""
    if _MARK not in text:
        return value
    return _replace(value, lambda escaped: _ESCAPED.sub(lambda found: chr(int(found[1], 16)), escaped))


def _replace(value: Fields, change: Callable[[str], str]) -> Fields:
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    return msgspec.structs.replace(
        value, **{name: change(text) for name, text in fields.items() if isinstance(text, str)}
    )
