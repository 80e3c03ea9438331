"""The parts of a document that a model is asked about: the whole, its sections, its pages, or its chunks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import msgspec

from inorder.documents.chunk.chunks import Chunk
from inorder.documents.chunk.step import find_pieces
from inorder.documents.convert.stored import StoredDocument, unpack_document
from inorder.documents.model_units import ModelUnit, UnitFile
from inorder.models.answers import Answer
from inorder.models.question import ModelInput, Question
from inorder.models.schema import Schema
from inorder.models.validation import Check, make_schema_check, parse_json

from .columns import find_misfit, make_fields
from .rows import unpack_extracted
from .settings import ExtractSettings, Over, hash_text

_GAP = "\n\n"


class TextPart(NamedTuple):
    """A block or a chunk of a document."""

    text: str
    section_path: tuple[str, ...]
    pages: tuple[int, ...]
    chunk_id: str = ""
    """Empty if it is a block."""


class TextUnit(NamedTuple):
    """A part of a document that a model is asked about."""

    number: int
    """In its document, from 1."""
    text: str
    section_path: list[str]
    pages: list[int]
    chunk_id: str
    """Empty unless it is a chunk."""


def list_blocks(document: StoredDocument) -> list[TextPart]:
    """Return the blocks of a document. Raises `ReadError` if a document of docling cannot be decoded."""
    return [TextPart(piece.text, piece.path, piece.pages) for piece in find_pieces(document)]


def list_chunks(chunks: Iterable[Chunk]) -> list[TextPart]:
    """Return chunks as parts of a document."""
    return [TextPart(each.text, tuple(each.section_path), tuple(each.pages), each.chunk_id) for each in chunks]


def list_units(parts: Sequence[TextPart], over: Over) -> list[TextUnit]:
    """Return what a model is asked about, in reading order. A part on several pages belongs to the first of them."""
    grouped: Iterable[list[TextPart]]
    match over:
        case "chunk":
            grouped = ([part] for part in parts)
        case "section":
            grouped = (list(found) for _, found in groupby(parts, key=attrgetter("section_path")))
        case "page":
            grouped = (list(found) for _, found in groupby(parts, key=lambda part: part.pages[:1]))
        case "document":
            grouped = [list(parts)] if parts else []
    return [
        TextUnit(
            number,
            _GAP.join(part.text for part in group),
            list(group[0].section_path),
            sorted({page for part in group for page in part.pages}),
            group[0].chunk_id,
        )
        for number, group in enumerate(grouped, 1)
    ]


def make_question(settings: ExtractSettings, sha256: bytes, text: str) -> Question:
    """Return the question about a text in the file with this hash."""
    return Question(
        model=settings.model,
        prompt=settings.prompt,
        parameters={
            "output_tokens_max": settings.tokens_max,
            "temperature": 0.0,
            "schema": msgspec.json.decode(settings.schema),
        },
        input_key=f"{sha256.hex()}#{hash_text(text)}",
    )


def make_check(settings: ExtractSettings) -> Check:
    """Return the check of an answer: it has the schema, and its values fit the columns of the table."""
    schema = Schema(msgspec.json.decode(settings.schema))
    check_schema, fields = make_schema_check(schema), make_fields(schema)

    def check(answer: Answer) -> str:
        return check_schema(answer) or find_misfit(parse_json(answer.text), fields)

    return check


class ExtractUnits:
    """The parts of documents that lack an answer."""

    units_max: int | None = None

    def __init__(
        self, settings: ExtractSettings, unpack_chunks: Callable[[str, bytes, Sequence[str]], list[Chunk]]
    ) -> None:
        """`unpack_chunks` returns the chunks of a document from the result of the step `chunk`."""
        self.model = settings.model
        self.noun: str = settings.over
        self._settings = settings
        self._unpack_chunks = unpack_chunks
        self._check = make_check(settings)

    def list_units(self, file: UnitFile) -> Sequence[ModelUnit]:
        """Return the parts of a document that lack an answer."""
        present = file.read(self._settings.step)
        answered = set() if present is None else {row.number for row in unpack_extracted(present[0]).rows}
        return [unit for unit in self.list_all(file) if unit.number not in answered]

    def list_all(self, file: UnitFile) -> Sequence[ModelUnit]:
        """Return the parts of a document that a model is asked about, answered or not."""
        settings = self._settings
        found = file.read(settings.reads)
        if found is None or not settings.is_chosen(file.item_id):
            return []
        is_chunk = settings.over == "chunk"
        parts = (
            list_chunks(self._unpack_chunks(file.item_id, *found))
            if is_chunk
            else list_blocks(unpack_document(found[0]))
        )
        return [
            ModelUnit(
                unit.number,
                make_question(settings, file.sha256, unit.text),
                partial(ModelInput, text=unit.text),
                self._check,
            )
            for unit in list_units(parts, settings.over)
        ]

    def close(self) -> None:
        """Nothing is open."""
