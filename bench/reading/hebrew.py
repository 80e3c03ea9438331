"""Makes PDFs in Hebrew, which is written from right to left, with tables whose first column is the rightmost."""

from collections.abc import Sequence

from .documents import Made, Story, make_grid
from .scores import Content, Grid
from .tagged import write_objects

HEBREW = "".join(map(chr, range(0x5D0, 0x5EB)))
LETTERS = f"{HEBREW}0123456789. "
WIDTH_PER_SIZE = 0.6
SIZE = 10
RIGHT, LEFT, TOP = 540, 60, 780


class Page:
    """Draws lines and rules, and keeps what they say."""

    def __init__(self, seed: int) -> None:
        self.story = Story(seed)
        self.tables: list[Grid] = []
        self.parts: list[str] = []
        self._drawn: list[str] = []
        self._top = TOP

    def words(self, count: int) -> str:
        chance = self.story.chance
        return " ".join("".join(chance.choices(HEBREW, k=chance.randint(2, 7))) for _ in range(count))

    def paragraph(self, lines: int) -> None:
        for _ in range(lines):
            text = self.words(12)
            self.parts.append(text)
            self._draw(text, RIGHT)
            self._top -= 14
        self._top -= 14

    def table(self, rows: Sequence[Sequence[str]], edges: Sequence[float], rules: str) -> None:
        """A table whose cells end at these edges, from right to left. Rules are `all`, `across` or none."""
        self.tables.append(make_grid(rows, ()))
        self.parts += [cell for row in rows for cell in row]
        top, bottom = self._top + 14, self._top + 14 - 20 * len(rows)
        for row in rows:
            for text, edge in zip(row, edges, strict=True):
                self._draw(text, edge)
            self._top -= 20
        walls = [edge + 6 for edge in edges] + [edges[-1] - 80]
        heights = [top - 20 * at for at in range(len(rows) + 1)] if rules == "all" else [top, top - 20, bottom]
        if rules:
            self._drawn += [f"{walls[-1]} {height} m {walls[0]} {height} l S" for height in heights]
        if rules == "all":
            self._drawn += [f"{wall} {top} m {wall} {bottom} l S" for wall in walls]
        self._top -= 20

    def _draw(self, text: str, edge: float) -> None:
        """Draw a text that ends at an edge as it looks: numbers from left to right, all else from right to left."""
        shown = text if text.replace(".", "").isdecimal() else text[::-1]
        codes = "".join(f"{33 + LETTERS.index(letter):02x}" for letter in shown)
        start = edge - WIDTH_PER_SIZE * SIZE * len(text)
        self._drawn.append(f"BT /F {SIZE} Tf 1 0 0 1 {start} {self._top} Tm <{codes}> Tj ET")

    def make(self, kind: str) -> Made:
        content = "\n".join(self._drawn)
        objects = {
            1: "<</Type/Catalog/Pages 2 0 R>>",
            2: "<</Type/Pages/Kids[3 0 R]/Count 1>>",
            3: "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
            4: f"<</Length {len(content)}>>stream\n{content}\nendstream",
            **_make_font(),
        }
        return Made(kind, write_objects(objects), Content(" ".join(self.parts), [], self.tables, [], []))


def _make_font() -> dict[int, str]:
    """A font of boxes, as objects 5 to 7."""
    codes = range(33, 33 + len(LETTERS))
    pairs = "\n".join(f"<{code:02x}> <{ord(letter):04x}>" for code, letter in zip(codes, LETTERS, strict=True))
    mapping = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange\n{len(LETTERS)} beginbfchar\n{pairs}\nendbfchar\n"
        "endcmap end end"
    )
    box = "600 0 0 0 600 700 d1 80 0 440 600 re f"
    names = " ".join(f"/g{code}" for code in codes)
    shapes = " ".join(f"/g{code} 7 0 R" for code in codes)
    return {
        5: "<</Type/Font/Subtype/Type3/FontBBox[0 0 600 700]/FontMatrix[.001 0 0 .001 0 0]/FirstChar 33"
        f"/LastChar {codes[-1]}/Widths[{'600 ' * len(LETTERS)}]/CharProcs<<{shapes}>>/Encoding<</Type/Encoding"
        f"/Differences[33 {names}]>>/ToUnicode 6 0 R/Resources<<>>>>",
        6: f"<</Length {len(mapping)}>>stream\n{mapping}\nendstream",
        7: f"<</Length {len(box)}>>stream\n{box}\nendstream",
    }


def right_to_left_tables(seed: int) -> Made:
    """Tables between paragraphs: with all rules, with horizontal ones, or without."""
    page = Page(seed)
    chance = page.story.chance
    for _ in range(3):
        page.paragraph(3)
        columns = chance.randint(3, 4)
        rows = [[page.words(1) for _ in range(columns)]]
        rows += [
            [page.words(1), *(f"{chance.random() * 100:.1f}" for _ in range(columns - 1))]
            for _ in range(chance.randint(3, 5))
        ]
        page.table(rows, [RIGHT - 110 * at for at in range(columns)], ("all", "across", "")[seed % 3])
    page.paragraph(2)
    return page.make("tables: right to left")
