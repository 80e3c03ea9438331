"""The tables of fields that a model has extracted from documents."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from inorder.documents.extract.columns import make_column, make_fields
from inorder.documents.extract.rows import Extracted, unpack_extracted
from inorder.documents.extract.settings import STEP
from inorder.errors import OperatorError
from inorder.library.rows import CHUNK
from inorder.library.snapshots import GenerationReader, ResultContent
from inorder.models.schema import Schema

from .reader import DataReader
from .results import DOCUMENT_FORMAT, LibraryResults, ListedResult, ResultFormat
from .tables import DataTable

_PLACE_FIELDS = [
    ("doc_id", pa.string()),
    ("part", pa.int32()),
    ("section_path", pa.list_(pa.string())),
    ("pages", pa.list_(pa.int32())),
    ("chunk_id", pa.string()),
]
_ROW_BYTES = 300


class ExtractedFields(NamedTuple):
    """What a model has extracted from a document, or from a part of it.

    >>> import inorder
    >>> row = inorder.dataset.ExtractedFields("docs/a.md", 1, ["Invoice"], [], "", {"total": 9.5})
    >>> row.value["total"]
    9.5
    """

    doc_id: str
    part: int
    """The number of the part in the document, from 1."""
    section_path: list[str]
    """Titles of the sections in which the part begins, outermost first."""
    pages: list[int]
    chunk_id: str
    """The id of the chunk; empty unless the part is one."""
    value: Any
    """The answer of the model, which has the schema."""


class ExtractTable(DataTable[Extracted, ExtractedFields]):
    """The rows of one extraction. Documents that have changed since have none."""

    def __init__(self, name: str) -> None:
        self.name = f"{STEP}/{name}"
        self.format = ResultFormat(f"{STEP}:{name}", _decode)
        self.made_by = f"extract --as {name}"

    def open(self, reader: DataReader) -> LibraryResults:
        return reader.open(self.format, CurrentResults)

    def list_rows(self, doc_id: str, decoded: Extracted) -> Iterator[ExtractedFields]:
        for row in decoded.rows:
            yield ExtractedFields(doc_id, *msgspec.structs.astuple(row))

    def make_schema(self, first: Extracted) -> Any:
        facts = {"schema": f"inorder.{STEP}", "schema_version": "1", "over": first.over, "model": first.model}
        metadata = {f"inorder.{name}": value for name, value in (facts | {"json_schema": first.schema}).items()}
        return pa.schema([*_PLACE_FIELDS, *make_fields(_parse_schema(first))], metadata=metadata)

    def make_arrays(self, documents: Sequence[tuple[str, Extracted]], schema: Any) -> list[Any]:
        expected = schema.metadata[b"inorder.json_schema"].decode()
        for doc_id, decoded in documents:
            if decoded.schema != expected:
                raise OperatorError(f"{doc_id!r} has fields of another schema; run `inorder {self.made_by}` again")
        rows = [row for doc_id, decoded in documents for row in self.list_rows(doc_id, decoded)]
        values = [row.value for row in rows]
        places = [pa.array([getattr(row, name) for row in rows], kind) for name, kind in _PLACE_FIELDS]
        fields = list(schema)[len(_PLACE_FIELDS) :]
        return [*places, *(make_column(values, field.name, field.type) for field in fields)]

    def measure(self, doc_id: str, decoded: Extracted) -> int:
        return sum(_ROW_BYTES + len(str(row.value)) for row in decoded.rows)


def count_outdated(reader: DataReader, table: DataTable[Any, Any]) -> int:
    """Return how many documents have changed since fields were extracted from them."""
    if not isinstance(table, ExtractTable):
        return 0
    return sum(1 for _ in reader.open(table.format).iterate()) - sum(1 for _ in table.open(reader).iterate())


class CurrentResults(LibraryResults):
    """Results that were made of what is there now."""

    def iterate(self, after: str = "") -> Iterator[ListedResult]:
        return (found for found in super().iterate(after) if self.load(found.doc_id) is not None)


def _decode(generation: GenerationReader, found: ResultContent) -> Extracted | None:
    extracted = unpack_extracted(found.content)
    source = CHUNK if extracted.over == "chunk" else DOCUMENT_FORMAT.step
    return extracted if generation.read_output(source, found.item_id) == extracted.made_of else None


def _parse_schema(decoded: Extracted) -> Schema:
    return Schema(msgspec.json.decode(decoded.schema))
