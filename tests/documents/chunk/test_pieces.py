"""The pieces of documents as we write them, as the library of the format writes them, and as they should not be."""

import json
from typing import Any

import pytest
from docling_core.types.doc.base import BoundingBox
from docling_core.types.doc.document import (
    ContentLayer,
    DoclingDocument,
    GraphCell,
    GraphCellLabel,
    GraphData,
    ProvenanceItem,
    RichTableCell,
    TableCell,
    TableData,
)
from docling_core.types.doc.labels import DocItemLabel, GroupLabel

from inorder.documents.chunk.chunks import build_chunks
from inorder.documents.chunk.model_pieces import TITLE_CHARACTERS_MAX
from inorder.documents.chunk.pieces import LEVEL_MAX, read_pieces
from inorder.documents.chunk.tokens import count_words
from inorder.documents.chunk.units import Piece
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.model import Cell, Code, Formula, Furniture, Heading, ListItem, Paragraph, Picture, Table, Title
from tests.documents.docling_reference import document

pytestmark = pytest.mark.req("DOC-2")

BOX = (50.0, 50.0, 500.0, 100.0)


def said(pieces: list[Piece]) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in pieces]


def exported(reference: DoclingDocument) -> list[Piece]:
    """The pieces of a document of the library: the same for all the ways to write it down."""
    short = read_pieces(json.dumps(reference.export_to_dict()).encode())
    assert short == read_pieces(reference.model_dump_json(by_alias=True).encode())
    return short


def record(**parts: Any) -> bytes:
    return json.dumps({"body": {"children": [{"$ref": "#/texts/0"}]}, **parts}).encode()


def text_items(*texts: dict[str, Any]) -> bytes:
    """A body of these."""
    refs = [{"$ref": f"#/texts/{number}"} for number in range(len(texts))]
    return record(body={"children": refs}, texts=list(texts))


def test_our_own_documents_become_pieces_in_reading_order() -> None:
    written = document(
        Title(text="Tale", page=1, box=BOX),
        Furniture(text="page 1", kind="header", page=1, box=BOX),
        Heading(text="Lamps", level=1, page=1, box=BOX),
        ListItem(text="oil", page=1, box=BOX),
        ListItem(text="wick", depth=1, page=1, box=BOX),
        ListItem(text="glass", page=2, box=BOX),
        Table(
            rows=2,
            columns=2,
            cells=[Cell("k", 0, 0), Cell("v\nw", 0, 1), Cell("both", 1, 0, columns=2)],
            caption="Rota",
            page=2,
            box=BOX,
        ),
        Picture(caption="A lamp", page=2, box=BOX),
        Picture(),
        Heading(text="Wicks", level=2, page=2, box=BOX),
        Code(text="\n  if x:\n    y\n", page=2, box=BOX),
        Formula(text="a = b", page=3, box=BOX),
        Heading(text="Glass", level=1, page=3, box=BOX),
        Paragraph(text=" end ", page=3, box=BOX),
        pages=3,
    )
    lamps, wicks, glass = ("Tale", "Lamps"), ("Tale", "Lamps", "Wicks"), ("Tale", "Glass")
    assert read_pieces(write_json(written)) == [
        Piece("Tale", "heading", "#/texts/0", (1,), ("Tale",)),
        Piece("Lamps", "heading", "#/texts/2", (1,), lamps),
        Piece("oil", "list", "#/texts/3", (1,), lamps),
        Piece("wick", "list", "#/texts/4", (1,), lamps),
        Piece("glass", "list", "#/texts/5", (2,), lamps),
        Piece("Rota", "text", "#/texts/6", (2,), lamps),
        Piece("k | v w\nboth", "table", "#/tables/0", (2,), lamps),
        Piece("A lamp", "text", "#/texts/7", (2,), lamps),
        Piece("Wicks", "heading", "#/texts/8", (2,), wicks),
        Piece("  if x:\n    y", "code", "#/texts/9", (2,), wicks),
        Piece("a = b", "text", "#/texts/10", (3,), wicks),
        Piece("Glass", "heading", "#/texts/11", (3,), glass),
        Piece("end", "text", "#/texts/12", (3,), glass),
    ]


def test_a_chunk_of_our_own_document_knows_its_pages_section_and_items() -> None:
    written = document(
        Heading(text="One", level=1, page=1, box=BOX),
        Paragraph(text="so it is " * 3, page=1, box=BOX),
        Paragraph(text="and so on " * 3, page=2, box=BOX),
        Heading(text="Two", level=2, page=3, box=BOX),
        Paragraph(text="and on " * 5, page=3, box=BOX),
        pages=3,
    )
    first, second = build_chunks("tale", read_pieces(write_json(written)), count_words, 10, 20)
    assert (first.section_path, first.pages, first.refs) == (["One"], [1, 2], [f"#/texts/{n}" for n in (0, 1, 2)])
    assert (second.section_path, second.pages, second.refs) == (["One", "Two"], [3], ["#/texts/3", "#/texts/4"])


def test_documents_of_the_library_become_pieces_in_reading_order() -> None:
    made = DoclingDocument(name="tale")
    made.add_title("Tale")
    made.add_text(DocItemLabel.PAGE_HEADER, "page 1", content_layer=ContentLayer.FURNITURE)
    made.add_heading("Lamps", level=1)
    outer = made.add_list_group()
    first = made.add_list_item("oil", parent=outer)
    inner = made.add_list_group(parent=first)
    made.add_list_item("wick", parent=inner)
    made.add_list_item("glass", parent=outer)
    section = made.add_group(label=GroupLabel.SECTION)
    made.add_code("if x:\n  y", parent=section)
    made.add_formula("a = b", parent=section)
    cells = [
        TableCell(
            text=text, start_row_offset_idx=0, end_row_offset_idx=1, start_col_offset_idx=at, end_col_offset_idx=at + 1
        )
        for at, text in enumerate(["k", "v"])
    ]
    made.add_table(TableData(num_rows=1, num_cols=2, table_cells=cells))
    made.add_text(DocItemLabel.TEXT, "end")
    assert said(exported(made)) == [
        ("heading", "Tale"),
        ("heading", "Lamps"),
        ("list", "oil"),
        ("list", "wick"),
        ("list", "glass"),
        ("code", "if x:\n  y"),
        ("text", "a = b"),
        ("table", "k | v"),
        ("text", "end"),
    ]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_caption_is_there_once_wherever_the_body_has_it(is_first: bool) -> None:
    made = DoclingDocument(name="tale")
    caption = made.add_text(DocItemLabel.CAPTION, "Rota") if is_first else None
    table = made.add_table(TableData(num_rows=0, num_cols=0))
    picture = made.add_picture()
    caption = caption or made.add_text(DocItemLabel.CAPTION, "Rota")
    table.captions.append(caption.get_ref())
    picture.captions += [caption.get_ref(), made.add_text(DocItemLabel.CAPTION, "A lamp", parent=picture).get_ref()]
    table.footnotes.append(made.add_text(DocItemLabel.FOOTNOTE, "as of May", parent=table).get_ref())
    assert said(exported(made)) == [("text", "Rota"), ("text", "as of May"), ("text", "A lamp")]


def test_a_piece_on_two_pages_has_both_and_a_caption_has_those_of_its_picture() -> None:
    box = BoundingBox(l=0, t=0, r=1, b=1)
    made = DoclingDocument(name="tale")
    text = made.add_text(DocItemLabel.TEXT, "on and on", prov=ProvenanceItem(page_no=4, bbox=box, charspan=(0, 2)))
    text.prov.append(ProvenanceItem(page_no=5, bbox=box, charspan=(3, 9)))
    picture = made.add_picture(prov=ProvenanceItem(page_no=6, bbox=box, charspan=(0, 0)))
    picture.captions.append(made.add_text(DocItemLabel.CAPTION, "A lamp", parent=picture).get_ref())
    assert [piece.pages for piece in exported(made)] == [(4, 5), (6,)]
    [chunk] = build_chunks("tale", exported(made), count_words, 0, 20)
    assert chunk.pages == [4, 5, 6]


def test_parts_of_a_line_are_one_piece() -> None:
    made = DoclingDocument(name="tale")
    made.add_text(DocItemLabel.TEXT, "before")
    line = made.add_inline_group()
    made.add_text(DocItemLabel.TEXT, "a bold", parent=line)
    made.add_code("lamp", parent=line)
    made.add_text(DocItemLabel.TEXT, "burns", parent=line)
    assert said(exported(made)) == [("text", "before"), ("text", "a bold lamp burns")]


def test_what_a_cell_holds_is_in_its_row_and_nowhere_else() -> None:
    made = DoclingDocument(name="tale")
    made.add_heading("Lamps", level=1)
    table = made.add_table(TableData(num_rows=1, num_cols=2))
    held = made.add_group(parent=table)
    made.add_heading("no section", level=1, parent=held)
    made.add_text(DocItemLabel.TEXT, "oil", parent=held)
    place = {"start_row_offset_idx": 0, "end_row_offset_idx": 1}
    rich = RichTableCell(text="oil", ref=held.get_ref(), start_col_offset_idx=0, end_col_offset_idx=1, **place)
    table.data.table_cells += [rich, TableCell(text="v", start_col_offset_idx=1, end_col_offset_idx=2, **place)]
    [_, piece] = exported(made)
    assert (piece.text, piece.path) == ("no section oil | v", ("Lamps",))


def test_keys_and_values_are_passed_over() -> None:
    cell = GraphCell(label=GraphCellLabel.KEY, cell_id=0, text="key", orig="key")
    made = DoclingDocument(name="tale")
    made.add_key_values(GraphData(cells=[cell], links=[]))
    made.add_form(GraphData(cells=[cell], links=[]))
    made.add_text(DocItemLabel.TEXT, "text")
    assert said(exported(made)) == [("text", "text")]


def test_sections_close_when_one_of_their_level_opens() -> None:
    headings = [("a", 1), ("b", 2), ("c", 3), ("d", 2), ("e", 1), ("f", 5), ("g", 4)]
    items = [{"label": "section_header", "text": text, "level": level} for text, level in headings]
    paths = ["/".join(piece.path) for piece in read_pieces(text_items(*items))]
    assert paths == ["a", "a/b", "a/b/c", "a/d", "e", "e/f", "e/g"]


def test_a_path_is_bounded_in_depth_and_length() -> None:
    items = [{"label": "section_header", "text": "x" * 5000, "level": level} for level in range(-3, 300)]
    pieces = read_pieces(text_items(*items))
    assert max(len(piece.path) for piece in pieces) == LEVEL_MAX
    assert {len(title) for title in pieces[-1].path} == {TITLE_CHARACTERS_MAX}
    assert {len(piece.text) for piece in pieces} == {5000}


def test_items_that_point_at_each_other_are_read_once() -> None:
    here, there, nowhere = ({"$ref": ref} for ref in ("#/texts/0", "#/texts/1", "#/texts/01"))
    texts = [
        {"text": "a", "children": [there, here, nowhere], "captions": [there]},
        {"text": "b", "children": [here, {"$ref": "#/body"}], "footnotes": [here]},
    ]
    assert [piece.text for piece in read_pieces(record(texts=texts))] == ["b", "a"]


@pytest.mark.parametrize(
    "target",
    ["", "#", "#/texts", "#/texts/", "#/texts/-1", "#/texts/1", f"#/texts/{'9' * 5000}", "#/body", "#/pages/1", "x"],
)
def test_what_points_to_nothing_is_passed_over(target: str) -> None:
    body = {"children": [{"$ref": target}, {"$ref": "#/texts/0"}]}
    assert [piece.text for piece in read_pieces(record(body=body, texts=[{"text": "a"}]))] == ["a"]


@pytest.mark.parametrize("link", ["children", "captions", "footnotes", "rich"])
def test_items_nested_ten_thousand_deep_are_read_or_refused(link: str) -> None:
    def item(number: int) -> dict[str, Any]:
        below = {"$ref": f"#/texts/{number + 1}"}
        if link == "rich":
            return {"data": {"table_cells": [{"text": "a", "ref": below}]}}
        return {"text": "a", link: [below]}

    nested = record(texts=[item(number) for number in range(10_000)])
    if link == "children":
        assert len(read_pieces(nested)) == 10_000
    else:
        with pytest.raises(ValueError, match="not a DoclingDocument"):
            read_pieces(nested)


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b'{"body": null}',
        b'{"body": {"children": [1]}}',
        b'{"body": {"children": [{}]}}',
        b'{"body": {}, "texts": {}}',
        b'{"body": {}, "texts": [{"text": 1}]}',
        b'{"body": {}, "texts": [{"prov": [{"page_no": 4294967296}]}]}',
        b'{"body": {}, "texts": [{"prov": [{"page_no": -1}]}]}',
        b'{"body": {}, "tables": [{"data": []}]}',
        b'{"body": {}, "more": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"body": ' + b'{"body": ' * 10_000,
        b'{"body": {}, "texts": [{"text": "\xed\xa0\x80"}]}',
        b'{"body": {}, "texts": [{"text": "\\ud8',
    ],
)
def test_what_is_no_document_is_refused_in_one_line(written: bytes) -> None:
    with pytest.raises(ValueError, match=r"\Anot a DoclingDocument: [^\n]+\Z"):
        read_pieces(written)
