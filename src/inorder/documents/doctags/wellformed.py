"""Text that can be written as UTF-8. Half a surrogate pair, from a file name or a damaged font, cannot."""

import re
from typing import Any

import msgspec

from inorder.documents.model import Document

_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def replace_surrogates(text: str) -> str:
    """The same text, with what cannot be encoded replaced."""
    if text.isascii():
        return text
    return _SURROGATE.sub(REPLACEMENT, text)


def clean_document(document: Document) -> Document:
    """A copy of the document in which every text can be encoded."""
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
