"""The library that defines DoclingDocument and DocTags, asked what it makes of what we wrote."""

import json
import re
import warnings
from collections import Counter
from typing import Any

from docling_core.types.doc.document import DoclingDocument, DocTagsDocument

from inorder.documents.doctags.cells import BRACKET
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.model import AnyBlock, Document, Page, Picture, Table

_LIST_TAG = re.compile(r"</?(?:un)?ordered_list>|</?list_item>|\n")
_WORD = re.compile(r"\w+")


def document(*blocks: AnyBlock, pages: int = 0, name: str = "tale") -> Document:
    return Document(
        name=name,
        mimetype="text/plain",
        blocks=list(blocks),
        pages=[Page(number, 600.0, 800.0) for number in range(1, pages + 1)],
        reader="test/1",
    )


def load_json(written: Document) -> DoclingDocument:
    """The JSON as the library loads it, without so much as a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return DoclingDocument.model_validate_json(write_json(written))


def assert_docling_agrees(written: Document) -> DoclingDocument:
    """The library loads our JSON unchanged, and exports the DocTags that we write, but for brackets and nested lists,
    which it does not read back."""
    reference = load_json(written)
    assert _without_grids(reference.export_to_dict()) == json.loads(write_json(written))
    assert _without_repairs(reference.export_to_doctags()) == _without_repairs(write_doctags(written))
    return reference


def assert_reads_back(written: Document) -> None:
    """The library reads our DocTags without losing a word."""
    assert not list_words(written) - list_words_of(load_doctags(written))


def _without_repairs(tags: str) -> str:
    return _LIST_TAG.sub("", tags.replace(BRACKET, "<"))


def list_words(written: Document) -> Counter[str]:
    """The words of all blocks."""
    found: Counter[str] = Counter()
    for block in written.blocks:
        match block:
            case Table():
                texts = [block.caption, *(cell.text for cell in block.cells)]
            case Picture():
                texts = [block.caption]
            case _:
                texts = [block.text]
        for text in texts:
            found.update(_WORD.findall(text))
    return found


def list_words_of(loaded: DoclingDocument) -> Counter[str]:
    """The words of a document of the library."""
    cells = [cell.text for table in loaded.tables for cell in table.data.table_cells]
    return Counter(word for text in (*(each.text for each in loaded.texts), *cells) for word in _WORD.findall(text))


def _without_grids(exported: dict[str, Any]) -> dict[str, Any]:
    for table in exported["tables"]:
        del table["data"]["grid"]
    return exported


def load_doctags(written: Document) -> DoclingDocument:
    """The DocTags as the library reads them."""
    tags = DocTagsDocument.from_multipage_doctags_and_images(write_doctags(written), None)
    return DoclingDocument.load_from_doctags(tags)
