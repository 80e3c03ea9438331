"""Reads a document from DoclingDocument JSON, whichever program wrote it: the inverse of `docling_json`.

Items are visited from the body down, each of them once. What the model has no block for is a paragraph: footnotes,
captions without a table or picture, check boxes. Positions on pages are left out.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from inorder.documents.model import (
    AnyBlock,
    Cell,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    ListItem,
    Page,
    Paragraph,
    Picture,
    Span,
    SpanKind,
    Table,
    Title,
)

from .code_languages import UNKNOWN
from .record import Grid, Item, Record, Ref, decode_record, find_links

READER = "docling"
_LISTS = ("list", "ordered_list")


def read_record(record: bytes) -> Document:
    """The document. Raises ValueError if `record` is not a DoclingDocument."""
    found = decode_record(record)
    return Document(
        name=found.name,
        mimetype="" if found.origin is None else found.origin.mimetype,
        blocks=list(_Walk(found).visit(found.body.children, depth=-1)),
        pages=[Page(page.page_no, page.size.width, page.size.height) for page in found.pages.values()],
        reader=READER,
    )


class _Walk:
    """Visits the items of a record, each once."""

    def __init__(self, record: Record) -> None:
        self._unvisited = record.list_items("groups", "texts", "pictures", "tables")

    def visit(self, refs: Iterable[Ref], depth: int) -> Iterator[AnyBlock]:
        """The blocks below some items. `depth` is that of the enclosing list; -1: there is none."""
        stack = [(iter(refs), depth)]
        while stack:
            children, depth = stack[-1]
            ref = next(children, None)
            if ref is None:
                stack.pop()
                continue
            item = self._unvisited.pop(ref.target, None)
            if item is None:
                continue
            if item.label == "inline":
                yield self._join_inline(item.children)
            elif ref.target.startswith("#/groups/"):
                stack.append((iter(item.children), depth + 1 if item.label in _LISTS else depth))
                continue
            else:
                yield self._make_block(item, max(depth, 0))
            if item.children:
                stack.append((iter(item.children), depth))

    def _join_inline(self, refs: Iterable[Ref]) -> Paragraph:
        """One paragraph of the parts of a line that differ in style."""
        paragraph = Paragraph(text="")
        for ref in refs:
            item = self._unvisited.pop(ref.target, None)
            text = "" if item is None else " ".join((item.text or item.orig).split())
            if item is None or not text:
                continue
            begin = len(paragraph.text) + 1 if paragraph.text else 0
            paragraph.text = f"{paragraph.text} {text}" if begin else text
            paragraph.spans += [(kind, begin, begin + len(text)) for kind in _list_kinds(item)]
            if item.hyperlink:
                paragraph.links.append((text, item.hyperlink))
        return paragraph

    def _make_block(self, item: Item, depth: int) -> AnyBlock:
        match item.label:
            case "title":
                return Title(text=item.text, links=find_links(item))
            case "section_header":
                return Heading(text=item.text, level=max(1, item.level), links=find_links(item))
            case "list_item":
                return ListItem(
                    text=item.text,
                    depth=depth,
                    ordered=item.enumerated,
                    marker=item.marker,
                    links=find_links(item),
                )
            case "code":
                language = "" if item.code_language == UNKNOWN else item.code_language.lower()
                return Code(text=item.text, language=language)
            case "formula":
                return Formula(text=item.text or item.orig)
            case "page_header":
                return Furniture(text=item.text, kind="header")
            case "page_footer":
                return Furniture(text=item.text, kind="footer")
            case "picture" | "chart":
                return Picture(caption=self._read_caption(item))
        if item.data is not None:
            return self._make_table(item, item.data)
        source: Literal["", "footnote"] = "footnote" if item.label == "footnote" else ""
        spans: list[Span] = [(kind, 0, len(item.text)) for kind in _list_kinds(item)] if item.text else []
        return Paragraph(text=item.text, links=find_links(item), spans=spans, source=source)

    def _make_table(self, item: Item, data: Grid) -> Table:
        cells = [
            Cell(
                cell.text,
                cell.start_row_offset_idx,
                cell.start_col_offset_idx,
                cell.row_span,
                cell.col_span,
                cell.column_header or cell.row_header,
            )
            for cell in data.table_cells
        ]
        return Table(rows=data.num_rows, columns=data.num_cols, cells=cells, caption=self._read_caption(item))

    def _read_caption(self, item: Item) -> str:
        return " ".join(self._list_texts(item.captions))

    def _list_texts(self, refs: Iterable[Ref]) -> Iterator[str]:
        for ref in refs:
            item = self._unvisited.pop(ref.target, None)
            if item is not None and item.text:
                yield item.text


def _list_kinds(item: Item) -> Iterator[SpanKind]:
    """What a text is as a part of a line."""
    if item.label == "code" or item.label == "formula":
        yield "code" if item.label == "code" else "formula"
    elif item.formatting is not None:
        if item.formatting.bold:
            yield "bold"
        if item.formatting.italic:
            yield "italic"
