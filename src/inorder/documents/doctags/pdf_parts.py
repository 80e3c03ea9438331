"""What is known of a long PDF before it is read in parts, and the parts themselves, as they lie in DATA."""

from pathlib import Path
from typing import Any

import msgspec

from inorder.documents.model import Document

FOLDER = "pages"


class Survey(msgspec.Struct, frozen=True):
    """A PDF at a glance."""

    pages: int
    """0: it cannot be read, as its own item will say."""
    facts: msgspec.Raw = msgspec.Raw(b"null")
    """What its reader must know to read any part of it; null: it is too short for parts."""


def pages_in(doc_id: str) -> str:
    """The folder in DATA where the parts of a document lie."""
    return f"{FOLDER}/{doc_id}"


def read_survey(path: str) -> Survey | None:
    """What was found; None: nothing was."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Survey)
    except (OSError, msgspec.DecodeError):
        return None


def write(value: Any) -> bytes:
    """A survey or a part."""
    return msgspec.json.encode(value)


def read_part(path: str) -> Document:
    """Some pages of a document."""
    return msgspec.json.decode(Path(path).read_bytes(), type=Document)
