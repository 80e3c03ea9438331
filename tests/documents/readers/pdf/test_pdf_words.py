"""No word is lost or doubled, and nearly all are in order: PDFs made of numbered words, in every mixture of things."""

import random
import re

import pytest
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, ListFlowable, TableStyle
from reportlab.platypus import Table as Grid

from inorder.documents.model import Furniture
from inorder.documents.readers.pdf import reader as pdf
from tests.documents.document_text import words
from tests.documents.pdf_files import HEIGHT, MARGIN, body, heading, typeset_pdf
from tests.documents.sequences import share_in_order

pytestmark = pytest.mark.req("DOC-1")

SHARE_MIN = 0.99
LOOKS = ({}, {"alignment": 4}, {"alignment": 4, "firstLineIndent": 12}, {"alignment": 1})
RULES = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])


class StoryMaker:
    """Makes stories of numbered words by chance."""

    def __init__(self, seed: int) -> None:
        self.given: list[str] = []
        self._chance = random.Random(seed)
        self.columns = self._chance.choice([1, 2, 3])
        self.has_edges = self._chance.random() < 0.5

    def words(self, count: int) -> str:
        lengths = [self._chance.randint(0, 7) for _ in range(count)]
        letters = ["".join(self._chance.choices("aeioulmnrst", k=length)) for length in lengths]
        new = [f"w{len(self.given) + index}{tail}" for index, tail in enumerate(letters)]
        self.given += new
        return " ".join(new)

    def text(self) -> str:
        return " ".join(f"{self.words(self._chance.randint(4, 14))}." for _ in range(self._chance.randint(1, 8)))

    def flowable(self) -> Flowable:
        kind = self._chance.choice(["text"] * 6 + ["heading", "heading", "list", "ruled", "aligned"])
        if kind == "heading":
            return heading(self.words(self._chance.randint(1, 5)), self._chance.randint(1, 3))
        if kind == "list":
            items = [body(self.text()) for _ in range(self._chance.randint(1, 4))]
            return ListFlowable(items, bulletType=self._chance.choice(["bullet", "1"]), bulletFontSize=10)
        if kind == "text":
            return body(self.text(), **self._chance.choice(LOOKS))
        rows = [[self.words(1) for _ in range(5 - self.columns)] for _ in range(self._chance.randint(3, 7))]
        widths = [420 / self.columns / len(rows[0])] * len(rows[0])
        return Grid(rows, colWidths=widths, style=RULES if kind == "ruled" else None)

    def make_pdf(self) -> bytes:
        flowables = [self.flowable() for _ in range(self._chance.randint(3, 20))]
        return typeset_pdf(flowables, self.columns, self._edges if self.has_edges else None)

    @staticmethod
    def _edges(canvas: Canvas) -> None:
        canvas.drawString(MARGIN, HEIGHT - 40, "The Handbook")
        canvas.drawString(MARGIN, 30, f"Page {canvas.getPageNumber()}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_every_word_is_there_once_and_nearly_all_are_in_order(seed: int) -> None:
    maker = StoryMaker(seed)
    document = pdf.read(maker.make_pdf(), "tale")
    document.blocks = [block for block in document.blocks if not isinstance(block, Furniture)]
    found = [word for word in words(document) if re.match(r"w\d", word)]
    assert sorted(found) == sorted(maker.given)
    assert share_in_order(maker.given, found) >= SHARE_MIN
