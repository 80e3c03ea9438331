"""Writes a document as DoclingDocument JSON: exact, and the same bytes for the same document.

The format has no field for warnings, for the reader, and for unknown languages: they are left out. Links are in `orig`,
written into the text as `[text](target)`; `text` is without them. Page headers and footers are in the layer
`furniture`. A table is written as its cells; the grid follows from them. The JSON is written without docling-core; the
tests prove that docling-core loads it unchanged.
"""

from collections.abc import Callable
from itertools import chain, count
from typing import Any

import msgspec

from inorder.documents.model import (
    Block,
    Cell,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    Paragraph,
    Picture,
    Table,
    Title,
)

from . import schema
from .cells import count_header_rows, is_column_header
from .code_languages import language_name
from .outline import ListNode, OutlineItem, group_lists
from .provenance import page_sizes, place_of
from .tags import heading_level
from .wellformed import clean_document, replace_surrogates

_ENCODER = msgspec.json.Encoder()
_LAYERS = {"page_header": "furniture", "page_footer": "furniture"}
"""Labels of texts that are not in the body."""
_TEXTS = {
    label: schema.join_fields(schema.TextFields(schema.BODY, [], _LAYERS.get(label, "body"), label, []))
    for label in ("text", "title", "section_header", "code", "formula", "page_header", "page_footer")
}
"""What texts without a position have in common, by label."""
_PARAGRAPHS, _HEADINGS, _CODES = _TEXTS["text"], _TEXTS["section_header"], _TEXTS["code"]
_LIST_ITEMS = schema.join_fields(schema.ListItemFields("body", "list_item", []))
_PLAIN_CELLS = schema.join_fields(schema.CellFlags())
_COLUMN_HEADERS = schema.join_fields(schema.CellFlags(column_header=True))
_ROW_HEADERS = schema.join_fields(schema.CellFlags(row_header=True))


def _make_text_ref(number: int) -> schema.Ref:
    return schema.Ref(f"#/texts/{number}")


_TEXT_REFS = [_make_text_ref(number) for number in range(500)]
"""The references of the first texts. Most documents have no others."""


def write_json(
    document: Document, *, filename: str = "", binary_hash: int = 0, outline: list[OutlineItem] | None = None
) -> bytes:
    """The JSON of a document. `filename` and `binary_hash` (64 bits of a hash of the file) become its `origin`.
    `outline` is that of its blocks, if it is known."""
    try:
        return _ENCODER.encode(_make_record(document, filename, binary_hash, outline))
    except UnicodeEncodeError:
        return _ENCODER.encode(_make_record(clean_document(document), replace_surrogates(filename), binary_hash))


def _make_record(
    document: Document, filename: str, binary_hash: int, outline: list[OutlineItem] | None = None
) -> schema.Record:
    writer = _Writer(document)
    units = group_lists(document.blocks) if outline is None else outline
    top = [_ADD[type(unit)](writer, unit) for unit in units]
    sizes = writer.sizes.items()
    return schema.Record(
        name=document.name,
        origin=schema.Origin(document.mimetype, binary_hash, filename) if filename else msgspec.UNSET,
        furniture=schema.Group("#/furniture", content_layer="furniture"),
        body=schema.Group("#/body", children=top),
        groups=writer.groups,
        texts=writer.texts,
        pictures=writer.pictures,
        tables=writer.tables,
        pages={str(page): schema.PageItem(schema.PageSize(width, height), page) for page, (width, height) in sizes},
    )


class _Writer:
    """Gives every block its reference, its parent and its children. Each `add_` method adds a block or list at the top
    level, and returns its reference."""

    def __init__(self, document: Document) -> None:
        self.sizes = page_sizes(document)
        self.groups: list[schema.Group] = []
        self.texts: list[schema.TextItem | schema.ListTextItem] = []
        self.pictures: list[schema.FloatingItem] = []
        self.tables: list[schema.TableItem] = []
        self._next_text = chain(_TEXT_REFS, map(_make_text_ref, count(len(_TEXT_REFS)))).__next__

    def add_paragraph(self, block: Paragraph) -> schema.Ref:
        text, ref = block.text, self._next_text()
        common = self._place(block, "text", text) if self.sizes else _PARAGRAPHS
        orig = insert_links(text, block.links) if block.links else text
        self.texts.append(schema.TextItem(ref.target, common, orig, text))
        return ref

    def add_title(self, block: Title) -> schema.Ref:
        return self._add_text(block, "title", block.text)

    def add_formula(self, block: Formula) -> schema.Ref:
        return self._add_text(block, "formula", block.text)

    def add_furniture(self, block: Furniture) -> schema.Ref:
        return self._add_text(block, f"page_{block.kind}", block.text)

    def _add_text(self, block: Block, label: str, text: str) -> schema.Ref:
        ref = self._next_text()
        self.texts.append(schema.TextItem(ref.target, self._place(block, label, text), text, text))
        return ref

    def add_heading(self, block: Heading) -> schema.Ref:
        text, ref = block.text, self._next_text()
        common = self._place(block, "section_header", text) if self.sizes else _HEADINGS
        self.texts.append(schema.SectionHeaderItem(ref.target, common, text, text, heading_level(block)))
        return ref

    def add_code(self, block: Code) -> schema.Ref:
        text, ref = block.text, self._next_text()
        common = self._place(block, "code", text) if self.sizes else _CODES
        self.texts.append(schema.CodeItem(ref.target, common, text, text, language_name(block.language)))
        return ref

    def _place(self, block: Block, label: str, text: str) -> msgspec.Raw:
        prov = self._locate(block, len(text))
        if not prov:
            return _TEXTS[label]
        return schema.join_fields(schema.TextFields(schema.BODY, [], _LAYERS.get(label, "body"), label, prov))

    def add_list(self, node: ListNode) -> schema.Ref:
        return self._add_list(node, schema.BODY)

    def _add_list(self, node: ListNode, parent: schema.Ref) -> schema.Ref:
        ref = schema.Ref(f"#/groups/{len(self.groups)}")
        children: list[schema.Ref] = []
        nested: list[schema.Ref] = []
        self.groups.append(schema.Group(ref.target, parent, children, "body", "list", "list"))
        for entry in node.entries:
            if isinstance(entry, ListNode):
                nested.append(self._add_list(entry, children[-1]))
                continue
            text, item, nested, common = entry.text, self._next_text(), [], _LIST_ITEMS
            if self.sizes and (prov := self._locate(entry, len(text))):
                common = schema.join_fields(schema.ListItemFields("body", "list_item", prov))
            self.texts.append(
                schema.ListTextItem(item.target, ref, nested, common, text, text, entry.ordered, entry.marker)
            )
            children.append(item)
        return ref

    def add_table(self, table: Table) -> schema.Ref:
        ref = schema.Ref(f"#/tables/{len(self.tables)}")
        captions, prov = self._add_caption(table.caption, ref), self._locate(table, 0)
        header_rows = count_header_rows(table)
        data = schema.TableData([_make_cell(cell, header_rows) for cell in table.cells], table.rows, table.columns)
        self.tables.append(
            schema.TableItem(ref.target, schema.BODY, captions, "body", "table", prov, captions, data=data)
        )
        return ref

    def add_picture(self, picture: Picture) -> schema.Ref:
        ref = schema.Ref(f"#/pictures/{len(self.pictures)}")
        captions, prov = self._add_caption(picture.caption, ref), self._locate(picture, 0)
        self.pictures.append(schema.FloatingItem(ref.target, schema.BODY, captions, "body", "picture", prov, captions))
        return ref

    def _add_caption(self, text: str, parent: schema.Ref) -> list[schema.Ref]:
        if not text:
            return []
        ref, common = self._next_text(), schema.join_fields(schema.TextFields(parent, [], "body", "caption", []))
        self.texts.append(schema.TextItem(ref.target, common, text, text))
        return [ref]

    def _locate(self, block: Block, length: int) -> list[schema.Provenance]:
        place = place_of(block, self.sizes) if self.sizes else None
        if place is None:
            return []
        page, left, top, right, bottom = place
        return [schema.Provenance(page, schema.BoundingBox(left, top, right, bottom), (0, length))]


_ADD: dict[type, Callable[[_Writer, Any], schema.Ref]] = {
    Paragraph: _Writer.add_paragraph,
    ListNode: _Writer.add_list,
    Heading: _Writer.add_heading,
    Title: _Writer.add_title,
    Code: _Writer.add_code,
    Table: _Writer.add_table,
    Picture: _Writer.add_picture,
    Formula: _Writer.add_formula,
    Furniture: _Writer.add_furniture,
}


def _make_cell(cell: Cell, header_rows: int) -> schema.TableCell:
    row, column, rows, columns, flags = cell.row, cell.column, cell.rows, cell.columns, _PLAIN_CELLS
    if cell.is_header:
        flags = _COLUMN_HEADERS if is_column_header(cell, header_rows) else _ROW_HEADERS
    return schema.TableCell(rows, columns, row, row + rows, column, column + columns, cell.text, flags)


def insert_links(text: str, links: list[tuple[str, str]]) -> str:
    """Write links into a text as `[text](target)`, each at the next occurrence of its own text."""
    parts: list[str] = []
    reached = 0
    for label, target in links:
        at = text.find(label, reached) if label else -1
        if at >= 0:
            parts += (text[reached:at], "[", label, "](", target, ")")
            reached = at + len(label)
    return "".join((*parts, text[reached:]))
