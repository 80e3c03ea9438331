"""Word documents (DOCX): paragraphs, headings by style, lists with their numbers, tables, links and notes.

There are no pages: where they break is known only to the program that lays them out.
"""

from typing import Literal

from inorder.documents.model import AnyBlock, Document, Furniture, Heading, Paragraph, Title
from inorder.documents.readers.registry import reader_version
from inorder.documents.readers.table_grid import Budget
from inorder.documents.readers.whitespace import squeeze
from inorder.errors import ReadError

from .body import Body
from .numbering import Numbering
from .package import NAMES, Attributes, Handler, Package, Relation
from .styles import Styles

MIMETYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FURNITURE_PARTS_MAX = 50


def read(data: bytes, name: str) -> Document:
    """The document in these bytes."""
    reading = _Reading(Package(data))
    blocks = reading.body()
    blocks += reading.notes()
    stated = reading.title()
    if stated and not _says(blocks, stated):
        blocks.insert(0, Title(text=stated))
    if not blocks:
        reading.budget.warnings.append("there is no text in it")
    blocks += reading.furniture()
    return Document(
        name=name,
        mimetype=MIMETYPE,
        blocks=blocks,
        reader=reader_version("docx"),
        warnings=reading.budget.warnings,
    )


def _says(blocks: list[AnyBlock], title: str) -> bool:
    """Whether there is a title in the text, or a heading with the words of this one."""
    return any(type(block) is Title or (type(block) is Heading and block.text == title) for block in blocks)


class _Reading:
    """A file as it is read, part by part."""

    def __init__(self, package: Package) -> None:
        self.budget = Budget()
        self._package = package
        self._root = package.relations("")
        self._main = _target(self._root, "officeDocument") or "word/document.xml"
        self._relations = package.relations(self._main)
        self._styles = Styles(package.read(_target(self._relations, "styles") or "word/styles.xml"))
        numbering = _target(self._relations, "numbering") or "word/numbering.xml"
        self._numbering = Numbering(lambda handler: package.parse(numbering, handler))

    def body(self) -> list[AnyBlock]:
        body = self._part(self._main, self._relations)
        if not body.is_word:
            raise ReadError("not a Word document: there is no text part in the archive")
        return body.judge.finish()

    def notes(self) -> list[AnyBlock]:
        """Footnotes and endnotes, as paragraphs."""
        found: list[AnyBlock] = []
        for kind in ("footnotes", "endnotes"):
            target = _target(self._relations, kind)
            if target:
                found += self._part(target, self._package.relations(target)).judge.finish()
        return found

    def furniture(self) -> list[AnyBlock]:
        """Headers and footers, each text once."""
        found: dict[tuple[str, str], AnyBlock] = {}
        parts = [relation for relation in self._relations.values() if relation.kind in ("header", "footer")]
        for relation in parts[:FURNITURE_PARTS_MAX]:
            blocks = self._part(relation.target, {}).judge.finish()
            text = " ".join(block.text for block in blocks if type(block) is Paragraph)
            if text:
                kind: Literal["header", "footer"] = "header" if relation.kind == "header" else "footer"
                found[kind, text] = Furniture(text=text, kind=kind)
        return list(found.values())

    def title(self) -> str:
        """What the properties of the file state."""
        properties = _Properties()
        self._package.parse(_target(self._root, "core-properties") or "docProps/core.xml", properties)
        return squeeze("".join(properties.title))

    def _part(self, name: str, relations: dict[str, Relation]) -> Body:
        """A part with text; one that is not there has none."""
        body = Body(self._styles, self._numbering, relations, self.budget)
        self._package.parse(name, body)
        return body


def _target(relations: dict[str, Relation], kind: str) -> str:
    return next((relation.target for relation in relations.values() if relation.kind == kind), "")


class _Properties(Handler):
    def __init__(self) -> None:
        self.title: list[str] = []
        self._is_title = False

    def start(self, name: str, attributes: Attributes) -> None:
        self._is_title = NAMES[name] == "dc:title"

    def end(self, name: str) -> None:
        self._is_title = False

    def text(self, text: str) -> None:
        if self._is_title:
            self.title.append(text)
