"""The DoclingDocument JSON of a document: exact, and the same bytes for the same document.

What the format has no place for is left out: warnings, the reader, and languages it has no name for. Links stand in
`orig`, written into the text as `[text](target)`; `text` is without them. Headers and footers of pages are in the layer
`furniture`. A table is written as its cells, not also as its grid.
"""

import msgspec

from inorder.documents.model import (
    AnyBlock,
    Block,
    Cell,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    ListItem,
    Paragraph,
    Picture,
    Table,
    Title,
)

from . import schema
from .cells import count_header_rows, is_column_header
from .code_languages import language_name
from .outline import ListEntry, ListNode, group_lists
from .provenance import page_sizes, place_of
from .tags import heading_level
from .wellformed import clean_document, replace_surrogates

_ENCODER = msgspec.json.Encoder()


def write_json(document: Document, *, filename: str = "", binary_hash: int = 0) -> bytes:
    """The JSON. With `filename` it says which file was read; `binary_hash` is 64 bits of a hash of that file."""
    try:
        return _ENCODER.encode(_record(document, filename, binary_hash))
    except UnicodeEncodeError:
        return _ENCODER.encode(_record(clean_document(document), replace_surrogates(filename), binary_hash))


def _record(document: Document, filename: str, binary_hash: int) -> schema.Record:
    writer = _Writer(document)
    top = [writer.add(unit) for unit in group_lists(document.blocks)]
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
    """Gives every block its number, its parent and its children."""

    def __init__(self, document: Document) -> None:
        self.sizes = page_sizes(document)
        self.groups: list[schema.Group] = []
        self.texts: list[schema.TextItem] = []
        self.pictures: list[schema.FloatingItem] = []
        self.tables: list[schema.TableItem] = []

    def add(self, unit: AnyBlock | ListNode) -> schema.Ref:
        """Write what stands at the top of the document."""
        match unit:
            case Paragraph(text=text, links=links):
                return self._text(unit, "text", text, insert_links(text, links) if links else text)
            case ListNode():
                return self._list(unit, schema.BODY)
            case Heading(text=text):
                return self._heading(unit, text)
            case Title(text=text):
                return self._text(unit, "title", text, text)
            case Code(text=text):
                return self._code(unit, text)
            case Table():
                return self._table(unit)
            case Picture():
                return self._picture(unit)
            case Formula(text=text):
                return self._text(unit, "formula", text, text)
            case Furniture(text=text, kind=kind):
                return self._text(unit, f"page_{kind}", text, text, layer="furniture")
            case ListItem():
                raise TypeError("list items are written in lists")

    def _text(self, block: Block, label: str, text: str, orig: str, layer: str = "body") -> schema.Ref:
        ref = f"#/texts/{len(self.texts)}"
        prov = self._provenance(block, len(text))
        self.texts.append(schema.TextItem(ref, schema.BODY, [], layer, label, prov, orig, text))
        return schema.Ref(ref)

    def _heading(self, block: Heading, text: str) -> schema.Ref:
        ref = f"#/texts/{len(self.texts)}"
        prov, level = self._provenance(block, len(text)), heading_level(block)
        self.texts.append(
            schema.SectionHeaderItem(ref, schema.BODY, [], "body", "section_header", prov, text, text, level)
        )
        return schema.Ref(ref)

    def _code(self, block: Code, text: str) -> schema.Ref:
        ref = f"#/texts/{len(self.texts)}"
        prov, language = self._provenance(block, len(text)), language_name(block.language)
        self.texts.append(schema.CodeItem(ref, schema.BODY, [], "body", "code", prov, text, text, language))
        return schema.Ref(ref)

    def _list(self, node: ListNode, parent: schema.Ref) -> schema.Ref:
        ref = schema.Ref(f"#/groups/{len(self.groups)}")
        children: list[schema.Ref] = []
        self.groups.append(schema.Group(ref.target, parent, children, name="list", label="list"))
        children.extend(self._list_entry(entry, ref) for entry in node.entries)
        return ref

    def _list_entry(self, entry: ListEntry, parent: schema.Ref) -> schema.Ref:
        item, ref = entry.item, schema.Ref(f"#/texts/{len(self.texts)}")
        children: list[schema.Ref] = []
        prov = self._provenance(item, len(item.text))
        self.texts.append(
            schema.ListTextItem(
                ref.target, parent, children, "body", "list_item", prov, item.text, item.text, item.ordered, item.marker
            )
        )
        children.extend(self._list(node, ref) for node in entry.lists)
        return ref

    def _table(self, table: Table) -> schema.Ref:
        ref = schema.Ref(f"#/tables/{len(self.tables)}")
        captions, prov = self._caption(table.caption, ref), self._provenance(table, 0)
        header_rows = count_header_rows(table)
        data = schema.TableData([_cell(cell, header_rows) for cell in table.cells], table.rows, table.columns)
        self.tables.append(
            schema.TableItem(ref.target, schema.BODY, captions, "body", "table", prov, captions, data=data)
        )
        return ref

    def _picture(self, picture: Picture) -> schema.Ref:
        ref = schema.Ref(f"#/pictures/{len(self.pictures)}")
        captions, prov = self._caption(picture.caption, ref), self._provenance(picture, 0)
        self.pictures.append(schema.FloatingItem(ref.target, schema.BODY, captions, "body", "picture", prov, captions))
        return ref

    def _caption(self, text: str, parent: schema.Ref) -> list[schema.Ref]:
        if not text:
            return []
        ref = f"#/texts/{len(self.texts)}"
        self.texts.append(schema.TextItem(ref, parent, [], "body", "caption", [], text, text))
        return [schema.Ref(ref)]

    def _provenance(self, block: Block, length: int) -> list[schema.Provenance]:
        place = place_of(block, self.sizes) if self.sizes else None
        if place is None:
            return []
        return [schema.Provenance(place[0], schema.BoundingBox(*place[1:]), (0, length))]


def _cell(cell: Cell, header_rows: int) -> schema.TableCell:
    heads_columns = is_column_header(cell, header_rows)
    return schema.TableCell(
        cell.rows,
        cell.columns,
        cell.row,
        cell.row + cell.rows,
        cell.column,
        cell.column + cell.columns,
        cell.text,
        column_header=heads_columns,
        row_header=cell.is_header and not heads_columns,
    )


def insert_links(text: str, links: list[tuple[str, str]]) -> str:
    """The text with its links written into it, each where its own text comes next."""
    parts: list[str] = []
    reached = 0
    for said, target in links:
        at = text.find(said, reached) if said else -1
        if at >= 0:
            parts += (text[reached:at], "[", said, "](", target, ")")
            reached = at + len(said)
    return "".join((*parts, text[reached:]))
