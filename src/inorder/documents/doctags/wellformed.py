"""Text that can be written as UTF-8. Half a surrogate pair, from a file name or a damaged font, cannot."""

import re
from typing import Any

import msgspec

from inorder.documents.model import Document

_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def without_surrogates(text: str) -> str:
    """The same text, with what cannot be encoded replaced."""
    if text.isascii():
        return text
    return _SURROGATE.sub(REPLACEMENT, text)


def clean_document(document: Document) -> Document:
    """A copy of the document in which every text can be encoded."""
    return msgspec.convert(_cleaned(msgspec.to_builtins(document)), Document)


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return without_surrogates(value)
        case dict():
            return {key: _cleaned(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_cleaned(inner) for inner in value]
        case _:
            return value
