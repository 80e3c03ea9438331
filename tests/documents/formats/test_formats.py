"""Every further format: its golden DocTags, and that docling-core reads them. To write the golden files again:

INORDER_GOLDEN=1 python -m pytest tests/documents/formats/test_formats.py
"""

import mimetypes
import os
from pathlib import Path

import pytest
from docling_core.types.doc.document import DoclingDocument

from inorder.documents.chunk.chunks import build_chunks
from inorder.documents.chunk.pieces import read_pieces
from inorder.documents.chunk.tokens import count_words
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.model import Document, Formula, ListItem
from inorder.documents.old_office import CONVERTED
from inorder.documents.readers.registry import READERS, load_reader, reader_version
from inorder.documents.readers.sniff import sniff
from tests.documents.docling_reference import assert_docling_agrees, assert_reads_back
from tests.documents.formats.samples import NAMES, SAMPLES, VARIANTS

pytestmark = pytest.mark.req("DOC-1")

GOLDEN = Path(__file__).parent / "golden"
OLDER = ("pdf", "html", "markdown", "docx", "text")
"""Kinds that have golden files of their own, in the sample."""


def test_every_kind_has_a_sample() -> None:
    assert {*SAMPLES, *OLDER, *CONVERTED} == set(READERS)
    assert {path.stem for path in GOLDEN.iterdir()} == set(VARIANTS)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_sample_reads_as_it_always_did(name: str) -> None:
    kind, data = VARIANTS[name]
    document = load_reader(kind)(data, "name")
    chunks = build_chunks("name", read_pieces(write_json(document)), count_words, 8, 32)
    lines = [f"{chunk.tokens:>3} {chunk.pages} {' > '.join(chunk.section_path)}: {chunk.text}" for chunk in chunks]
    found = "\n".join([write_doctags(document), *document.warnings, "", *lines, ""])
    golden = GOLDEN / f"{name}.golden"
    if os.environ.get("INORDER_GOLDEN"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VARIANTS)
def test_docling_core_agrees(name: str) -> None:
    kind, data = VARIANTS[name]
    document = load_reader(kind)(data, "name")
    assert document.blocks
    assert document.reader == reader_version(kind)
    assert_docling_agrees(document)
    assert_reads_back(document)


@pytest.mark.parametrize("name", VARIANTS)
def test_docling_core_loads_the_json_of_every_kind_with_what_it_says_of_the_file(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Types that only this machine knows do not count.
    monkeypatch.setattr(mimetypes, "types_map", mimetypes.MimeTypes(filenames=()).types_map[True])
    kind, data = VARIANTS[name]
    record = write_json(load_reader(kind)(data, "name"), filename=f"name.{kind}", binary_hash=7)
    origin = DoclingDocument.model_validate_json(record).origin
    assert origin is not None
    assert (origin.filename, origin.binary_hash) == (f"name.{kind}", 7)


@pytest.mark.parametrize("mimetype", ["application/x-of-a-plug-in", "", *(f"image/{kind}" for kind in ("webp", "mpo"))])
def test_docling_core_loads_the_json_of_a_file_of_any_type(mimetype: str) -> None:
    document = Document(name="x", mimetype=mimetype, blocks=[])
    assert DoclingDocument.model_validate_json(write_json(document, filename="x.y"))


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_kind_is_found_by_name_and_content(kind: str) -> None:
    assert sniff(NAMES[kind], SAMPLES[kind][:4096]) == kind


def test_items_of_an_ordered_list_in_asciidoc_are_numbered_at_each_depth() -> None:
    text = ". one\n.. deep\n.. deeper\n. two\n.. again\n* bullet\n\n== Next\n\n. first\n"
    document = load_reader("asciidoc")(text.encode(), "name")
    items = [(each.marker, each.depth, each.text) for each in document.blocks if isinstance(each, ListItem)]
    assert items == [
        ("1.", 0, "one"),
        ("1.", 1, "deep"),
        ("2.", 1, "deeper"),
        ("2.", 0, "two"),
        ("1.", 1, "again"),
        ("-", 2, "bullet"),
        ("1.", 0, "first"),
    ]


@pytest.mark.parametrize("kind", ["stem", "latexmath", "asciimath"])
def test_a_block_of_mathematics_in_asciidoc_is_a_formula(kind: str) -> None:
    document = load_reader("asciidoc")(f"[{kind}]\n++++\n\\[x^2\\]\n++++\n\n[{kind}]\ny + 1\n".encode(), "name")
    assert [(type(each), each.text) for each in document.blocks] == [(Formula, "x^2"), (Formula, "y + 1")]
