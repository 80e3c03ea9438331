"""Make text encodable as UTF-8. Lone surrogates, from file names or damaged fonts, are not."""

import re
from typing import Any

import msgspec

from inorder.documents.model import Document

_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def replace_surrogates(text: str) -> str:
    """The text with each surrogate replaced by U+FFFD."""
    if text.isascii():
        return text
    return _SURROGATE.sub(REPLACEMENT, text)


def clean_document(document: Document) -> Document:
    """A copy of the document without surrogates in any text."""
    return msgspec.convert(_clean_value(msgspec.to_builtins(document)), Document)


def _clean_value(value: Any) -> Any:
    match value:
        case str():
            return replace_surrogates(value)
        case dict():
            return {key: _clean_value(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_clean_value(inner) for inner in value]
        case _:
            return value
