"""The sample that comes with the project: made again it is the same, and every file of it reads or says why not."""

import json
import re
from itertools import chain
from pathlib import Path

import pytest

from examples.make_sample import MADE, SAMPLE, blocks_of
from inorder.documents.model import Document, Furniture, Heading, ListItem, Table
from inorder.documents.readers.registry import READERS, load_reader
from inorder.documents.readers.sniff import sniff
from inorder.errors import ReadError
from inorder.pipeline.sources.names import SourcePart
from inorder.pipeline.sources.walk import ListedFile, walk_part
from tests.documents.docling_reference import assert_docling_agrees, assert_reads_back
from tests.documents.document_text import words
from tests.documents.sequences import share_in_order

pytestmark = pytest.mark.req("DOC-1")

QUESTIONS = SAMPLE.parent / "questions.jsonl"
BYTES_MAX = 1_500_000
SHARE_MIN = 0.99
REFUSED = {
    "archive/photograph.docx": "not a DOCX file, or damaged",
    "archive/sealed-letters.pdf": "the PDF is encrypted with a password",
    "archive/torn-report.pdf": "the PDF is damaged or truncated",
}
WARNED = {
    "archive/logbook-1952.pdf": "page 2 has no text layer",
    "notes/letter-windows-1252.txt": "decoded as Windows-1252",
    "notes/tides-shift-jis.txt": "no encoding declared",
}
COMPARED = [path for path in MADE if path.endswith((".pdf", ".html", ".docx")) and path not in REFUSED]


def found() -> list[str]:
    files = [each for each in walk_part(SourcePart("sample", str(SAMPLE)), ()) if isinstance(each, ListedFile)]
    return [each.item_id.removeprefix("sample/") for each in files if each.is_document]


def kind_of(path: str) -> str:
    return sniff(path, (SAMPLE / path).read_bytes())


def read(path: str) -> Document:
    return load_reader(kind_of(path))((SAMPLE / path).read_bytes(), Path(path).stem)


@pytest.mark.parametrize("path", MADE)
def test_made_again_it_is_the_same(path: str) -> None:
    assert MADE[path].make(blocks_of(MADE[path])) == (SAMPLE / path).read_bytes()


def test_it_is_small_and_its_drafts_are_left_out() -> None:
    everything = [path for path in SAMPLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in everything) < BYTES_MAX
    assert (SAMPLE / "drafts/new-rules.md").is_file()
    assert not [path for path in found() if path.startswith("drafts/")]


@pytest.mark.parametrize("path", [path for path in found() if kind_of(path) in READERS])
def test_every_document_reads_or_says_why_not(path: str) -> None:
    if path in REFUSED:
        with pytest.raises(ReadError, match=REFUSED[path]):
            read(path)
        return
    document = read(path)
    assert document.blocks
    assert [WARNED[path] in warning for warning in document.warnings] == ([True] if path in WARNED else [])
    assert_docling_agrees(document)
    assert_reads_back(document)


def test_what_is_no_document_is_known_as_such() -> None:
    others = {path: kind_of(path) for path in found() if kind_of(path) not in READERS}
    assert others.pop("archive/never-written.txt") == "empty"
    assert set(others.values()) == {"unknown"}
    assert all(path.startswith("code/") for path in others)
    assert len(others) >= 10


@pytest.mark.parametrize("path", COMPARED)
def test_the_words_of_its_source_are_there_once_and_in_order(path: str) -> None:
    document = read(path)
    document.blocks = [block for block in document.blocks if not isinstance(block, Furniture)]
    given = re.findall(r"\w+", " ".join(word for block in blocks_of(MADE[path]) for word in block.words))
    said = words(document)
    assert share_in_order(given, said) >= SHARE_MIN
    assert len(said) <= len(given)


def test_the_handbook_has_the_parts_of_a_book() -> None:
    document = read("handbook/keepers-handbook.pdf")
    blocks = blocks_of(MADE["handbook/keepers-handbook.pdf"])
    headings = [block.text for block in document.blocks if isinstance(block, Heading)]
    assert headings == [block.text for block in blocks if block.kind == "heading"]
    tables = [block for block in document.blocks if isinstance(block, Table)]
    grids = [block.rows for block in blocks if block.kind == "table"]
    assert [[cell.text for cell in table.cells] for table in tables] == [list(chain(*rows)) for rows in grids]
    assert [block.text for block in document.blocks if isinstance(block, Furniture)] == [
        text for page in document.pages for text in ("The Keepers' Handbook", f"Page {page.number}")
    ]


@pytest.mark.parametrize("path", ["minutes/2024-03.docx", "minutes/visitors-arabic.docx", "web/visit-arabic.html"])
def test_lists_are_lists_in_every_direction(path: str) -> None:
    items = [block.text for block in read(path).blocks if isinstance(block, ListItem)]
    assert items == [block.text for block in blocks_of(MADE[path]) if block.kind == "item"]


def test_every_question_is_about_a_file_that_is_there() -> None:
    questions = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    assert len({question["question"] for question in questions}) == 40
    paths = [question["path"].removeprefix("sample/") for question in questions]
    assert set(paths) <= set(found())
    assert 15 <= sum(path.startswith("code/") for path in paths) <= 25
