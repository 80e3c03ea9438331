"""Reads Word documents (DOCX): paragraphs, headings by style, lists with their numbers, tables, links and notes.

There are no pages: only a layout program knows where they break.
"""

from collections.abc import Sequence
from typing import Literal

from inorder.documents.model import AnyBlock, Document, Furniture, Heading, Paragraph, Title
from inorder.documents.readers.document import make_document
from inorder.documents.readers.office.package import SHORT_NAMES, Attributes, Handler, Package, Relation, find_target
from inorder.documents.readers.table_grid import TableBudget
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError

from .body import Body
from .numbering import Numbering
from .styles import DocxStyleSheet

MIMETYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FURNITURE_PARTS_MAX = 50


def read(data: bytes, name: str, passwords: Sequence[str] = ()) -> Document:
    """Read a DOCX file. The passwords are tried if it is encrypted."""
    reader = _DocxReader(Package(data, passwords=passwords))
    blocks = reader.read_body()
    blocks += reader.read_notes()
    stated = reader.read_title()
    if stated and not _has_title(blocks, stated):
        blocks.insert(0, Title(text=stated))
    document = make_document("docx", name, MIMETYPE, blocks, reader.budget.warnings)
    document.blocks += reader.read_furniture()
    return document


def _has_title(blocks: list[AnyBlock], title: str) -> bool:
    """Whether the blocks have a title already, or a heading with this text."""
    return any(
        type(block) is Title or (type(block) is Heading and (block.text == title or block.text.endswith(f" {title}")))
        for block in blocks
    )


class _DocxReader:
    """Reads the parts of a file."""

    def __init__(self, package: Package) -> None:
        self.budget = TableBudget()
        self._package = package
        self._root = package.read_relations("")
        self._main = find_target(self._root, "officeDocument") or "word/document.xml"
        self._relations = package.read_relations(self._main)
        self._styles = DocxStyleSheet(package.read(find_target(self._relations, "styles") or "word/styles.xml"))
        numbering = find_target(self._relations, "numbering") or "word/numbering.xml"
        self._numbering = Numbering(lambda handler: package.parse(numbering, handler))

        self._notes: dict[str, str] = {}

    def read_body(self) -> list[AnyBlock]:
        body = self._read_part(self._main, self._relations)
        if not body.is_word:
            raise ReadError("not a Word document: the archive has no main document part")
        return body.classifier.finish()

    def read_notes(self) -> list[AnyBlock]:
        """Footnotes and endnotes with their numbers, and comments with their authors."""
        found: list[AnyBlock] = []
        for kind in ("footnotes", "endnotes", "comments"):
            target = find_target(self._relations, kind)
            if target:
                blocks = self._read_part(target, self._package.read_relations(target)).classifier.finish()
                for block in blocks:
                    if isinstance(block, Paragraph):
                        block.source = "note" if kind == "comments" else "footnote"
                found += blocks
        return found

    def read_furniture(self) -> list[AnyBlock]:
        """Headers and footers, each text once."""
        found: dict[tuple[str, str], AnyBlock] = {}
        parts = [relation for relation in self._relations.values() if relation.kind in ("header", "footer")]
        for relation in parts[:FURNITURE_PARTS_MAX]:
            blocks = self._read_part(relation.target, {}).classifier.finish()
            text = " ".join(block.text for block in blocks if type(block) is Paragraph)
            if text:
                kind: Literal["header", "footer"] = "header" if relation.kind == "header" else "footer"
                found[kind, text] = Furniture(text=text, kind=kind)
        return list(found.values())

    def read_title(self) -> str:
        """The title in the properties of the file."""
        properties = _Properties()
        self._package.parse(find_target(self._root, "core-properties") or "docProps/core.xml", properties)
        return collapse_whitespace("".join(properties.title))

    def _read_part(self, name: str, relations: dict[str, Relation]) -> Body:
        """Parse a part with text. A missing part has no text."""
        body = Body(self._package, self._styles, self._numbering, relations, self.budget, self._notes)
        self._package.parse(name, body)
        return body


class _Properties(Handler):
    def __init__(self) -> None:
        self.title: list[str] = []
        self._is_title = False

    def start(self, name: str, attributes: Attributes) -> None:
        self._is_title = SHORT_NAMES[name] == "dc:title"

    def end(self, name: str) -> None:
        self._is_title = False

    def text(self, text: str) -> None:
        if self._is_title:
            self.title.append(text)
