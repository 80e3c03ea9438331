"""Where the stage stores things in DATA.

doctags/<doc id>.doctags, <doc id>.docling.json     a document, in the two forms in which it is written
pages/<doc id>/survey.json                          what is known of a long PDF before it is read in parts
pages/<doc id>/000001-000100.json                   the parts
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.documents.layout import DOCTAGS_SUFFIX, RECORD_SUFFIX
from inorder.documents.model import Document

STAGE_NAME = "doctags"
PARTS_FOLDER = "pages"
SURVEY_NAME = "survey"


class PageRange(NamedTuple):
    """Pages of a PDF that are read as one part, from 1, both included."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The name in item ids and file names. Leading zeros make names sort in page order."""
        return f"{self.first:06}-{self.last:06}"

    @classmethod
    def parse(cls, name: str) -> "PageRange":
        """The range with this name."""
        first, _, last = name.partition("-")
        return cls(int(first), int(last))


class Survey(msgspec.Struct, frozen=True):
    """The number of pages of a PDF, and what every part must know of the whole."""

    pages: int
    """0: the PDF cannot be read. The item of the document reports why."""
    stats: msgspec.Raw = msgspec.field(name="facts", default=msgspec.Raw(b"null"))
    """`DocumentStats` as JSON; null: the PDF is too short to be read in parts."""


def document_outputs(doc_id: str) -> dict[str, str]:
    """The paths of a document in DATA, by the names of the outputs."""
    return {
        "doctags": f"{STAGE_NAME}/{doc_id}{DOCTAGS_SUFFIX}",
        "record": f"{STAGE_NAME}/{doc_id}{RECORD_SUFFIX}",
    }


def part_path(doc_id: str, name: str) -> str:
    """The path in DATA of a part of a document."""
    return f"{PARTS_FOLDER}/{doc_id}/{name}.json"


def survey_path(doc_id: str) -> str:
    """The path in DATA of the survey of a document."""
    return part_path(doc_id, SURVEY_NAME)


def encode(value: Any) -> bytes:
    """A survey or a part as JSON."""
    return msgspec.json.encode(value)


def read_survey(path: str) -> Survey | None:
    """The survey at this path; None if it is missing or damaged."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Survey)
    except (OSError, msgspec.DecodeError):
        return None


def read_part(path: str) -> Document:
    """The part at this path."""
    return msgspec.json.decode(Path(path).read_bytes(), type=Document)
