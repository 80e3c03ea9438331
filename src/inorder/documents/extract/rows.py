"""The step `extract`: from the parts of a document and the answers of a model to rows of fields."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from inorder.models.answers import find_kept
from inorder.models.validation import parse_json

from .settings import ExtractSettings

if TYPE_CHECKING:
    from .units import TextPart


class ExtractedRow(msgspec.Struct, frozen=True, array_like=True):
    """What a model has found in a part of a document."""

    number: int
    """The number of the part, from 1."""
    section_path: list[str]
    pages: list[int]
    chunk_id: str
    """Empty unless the part is a chunk."""
    value: Any
    """The answer, which has the schema."""


class Extracted(msgspec.Struct, frozen=True, array_like=True):
    """What was extracted from a document."""

    made_of: bytes
    """The hash of the document, or of its chunks."""
    schema: str
    over: str
    model: str
    rows: list[ExtractedRow] = []


class ExtractedDocument(msgspec.Struct, frozen=True):
    """The result of the step, and what it lacks."""

    content: bytes
    lacks_answers: bool
    extras: dict[str, Any]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Extracted)


def unpack_extracted(content: bytes) -> Extracted:
    """Return what `extract` has packed."""
    return _DECODER.decode(content)


def extract(
    item_id: str,
    parts: "Sequence[TextPart]",
    sha256: bytes,
    made_of: bytes,
    settings: ExtractSettings,
    answers: str,
    problems: Mapping[int, str],
) -> ExtractedDocument:
    """Make the rows of a document of the answers that are kept in the file `answers`. `sha256` is that of the file, and
    `made_of` the hash of what the parts were read from. `problems` says why parts have no answer."""
    from .units import list_units, make_question

    units = list_units(parts, settings.over) if settings.is_chosen(item_id) else []
    keys = [make_question(settings, sha256, unit.text).key for unit in units]
    kept = find_kept(answers, keys)
    rows = [
        ExtractedRow(unit.number, unit.section_path, unit.pages, unit.chunk_id, parse_json(kept[key].text))
        for unit, key in zip(units, keys, strict=True)
        if key in kept
    ]
    content = _ENCODER.encode(Extracted(made_of, settings.schema, settings.over, settings.model, rows))
    extras = {"units": len(units), "rows": len(rows), "failed_units": len(problems)}
    return ExtractedDocument(content, len(rows) < len(units), extras)
