"""The page on tuning says of each step in which unit its cost hints are, and how they are estimated."""

import re

import pytest

import inorder
from inorder.documents.cost import estimate_code_chunks, estimate_pages
from inorder.pipeline.parts import _SURVEY_COST
from tests.docs.pages import ROOT, read
from tests.specs.pages import complaint, marked_tables, table

PAGE = "docs/guides/tuning.md"
SIZE = 6_000_000
VISIT = "`doctags`, `chunk`, `index`, and `embed` with built-in vectors"


def bytes_per_page(kind: str) -> str:
    return f"{SIZE / estimate_pages(kind, b'', SIZE):,.0f} bytes per page, at least 1"


def cost_hints() -> str:
    stated = estimate_pages("pdf", b"<</Linearized 1/N 7>>", SIZE)
    assert stated == 7
    rows = [
        (VISIT, "PDF", "pages", f"stated by a linearized PDF; otherwise {bytes_per_page('pdf')}"),
        *((VISIT, kind.upper(), "pages", bytes_per_page(kind)) for kind in ("docx", "pptx", "html")),
        (VISIT, "all other documents", "pages", bytes_per_page("markdown")),
        ("`index`", "source code", "chunks", f"{SIZE / estimate_code_chunks(SIZE):,.0f} bytes per chunk, at least 1"),
        ("`doctags` of a long PDF", "its survey", "pages", f"always {_SURVEY_COST:g}"),
        ("`doctags` of a long PDF", "a part of its pages", "pages", "counted by the survey"),
        ("`chunk` and later steps of a long PDF", "the document", "parts", "counted"),
        ("`embed` with a model or a server", "a document", "pages, taken as chunks", "as for its other steps"),
        ("a stage of your own, `imap`", "`WorkItem.cost_hint`, `cost=`", "yours", "1 if not set"),
    ]
    return table(("step", "of", "unit", "how it is estimated"), rows)


def test_the_table_of_cost_hints_is_what_the_code_says() -> None:
    trouble = complaint(PAGE, "cost-hints", cost_hints(), marked_tables(read(PAGE)).get("cost-hints"))
    if trouble:
        pytest.fail(trouble, pytrace=False)


def test_an_item_without_a_hint_costs_one() -> None:
    assert inorder.WorkItem(item_id="a", inputs={}, outputs={}, cfg_hash="1").cost_hint == 1


def test_every_measurement_of_the_page_can_be_repeated() -> None:
    source = (ROOT / "bench/tuning.py").read_text(encoding="utf-8")
    parts = re.findall(r'^    "(\w+)": measure_', source, re.MULTILINE)
    assert parts
    assert [part for part in parts if f"`python bench/tuning.py {part}`" not in read(PAGE)] == []
