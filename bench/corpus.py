"""Generates documents for benchmarks: the same ones every time."""

import random
from pathlib import Path
from typing import NamedTuple

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

WORDS = """
lamp keeper lighthouse rota signal fog horn invoice harbour tide boat crew storm oil glass lens beam watch log book
paint ladder stair tower rock island ferry supply radio chart wind weather evening morning the a of and to in is that
for it was on are with as his they be at one have this from or had by
""".split()  # noqa: SIM905
PAGES_PER_FILE = 25


class Corpus(NamedTuple):
    """The number of PDF pages, and of HTML and of Markdown files."""

    pages: int
    files: int


def make_corpus(folder: Path, pages: int, files: int) -> Corpus:
    """Write PDFs with this many pages in total, and this many HTML and Markdown files each."""
    rng = random.Random(7)
    for name in ("pdf", "html", "markdown"):
        (folder / name).mkdir()
    made = 0
    while made < pages:
        made += _pdf(folder / "pdf" / f"{made:04}.pdf", rng, min(PAGES_PER_FILE, pages - made))
    for number in range(files):
        sections = [(_sentence(rng, 4), [_prose(rng) for _ in range(rng.randint(1, 4))]) for _ in range(6)]
        (folder / "html" / f"{number:04}.html").write_text(_html(sections, rng), encoding="utf-8")
        (folder / "markdown" / f"{number:04}.md").write_text(_markdown(sections, rng), encoding="utf-8")
    return Corpus(made, files)


def _sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words)).capitalize()


def _prose(rng: random.Random) -> str:
    return " ".join(f"{_sentence(rng, rng.randint(6, 20))}." for _ in range(rng.randint(3, 8)))


def _cells(rng: random.Random) -> list[list[str]]:
    return [["Item", "Count", "Price"], *([_sentence(rng, 2), str(rng.randint(1, 99)), "4.20"] for _ in range(6))]


def _pdf(path: Path, rng: random.Random, pages: int) -> int:
    """Write prose with headings and tables, every other page in two columns. Returns the number of pages."""
    width, height = A4
    one = Frame(60, 60, width - 120, height - 120, id="one")
    half = (width - 140) / 2
    two = [Frame(60, 60, half, height - 120, id="left"), Frame(80 + half, 60, half, height - 120, id="right")]
    document = BaseDocTemplate(str(path), pagesize=A4, invariant=1)
    document.addPageTemplates(
        [
            PageTemplate(id="single", frames=[one], onPage=_furniture, autoNextPageTemplate="double"),
            PageTemplate(id="double", frames=two, onPage=_furniture, autoNextPageTemplate="single"),
        ]
    )
    styles = getSampleStyleSheet()
    story: list[Flowable] = []
    ruled = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
    for number in range(pages * 2):
        story.append(Paragraph(_sentence(rng, 5), styles["Heading1" if number % 4 == 0 else "Heading2"]))
        story += [Paragraph(_prose(rng), styles["BodyText"]) for _ in range(4)]
        if number % 3 == 0:
            story += [Spacer(1, 8), Table(_cells(rng), style=ruled), Spacer(1, 8)]
    document.build(story)
    return int(document.page)


def _furniture(canvas: object, document: BaseDocTemplate) -> None:
    canvas.setFont("Helvetica", 8)  # type: ignore[attr-defined]
    canvas.drawString(60, 820, "The keepers' handbook")  # type: ignore[attr-defined]
    canvas.drawString(290, 30, str(document.page))  # type: ignore[attr-defined]


def _html(sections: list[tuple[str, list[str]]], rng: random.Random) -> str:
    body = "".join(f"<h2>{title}</h2>" + "".join(f"<p>{text}</p>" for text in prose) for title, prose in sections)
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in _cells(rng))
    links = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in WORDS[:20])
    return (
        "<!doctype html><html><head><title>Keepers</title><style>p{margin:0}</style><script>var a=1;</script></head>"
        f"<body><nav><ul>{links}</ul></nav><main><h1>Keepers</h1>{body}<table>{rows}</table></main>"
        "<footer>All rights reserved</footer></body></html>"
    )


def _markdown(sections: list[tuple[str, list[str]]], rng: random.Random) -> str:
    parts = ["# Keepers"]
    for title, prose in sections:
        parts += [f"## {title}", *prose, "- one\n- two\n  - three", "```python\nprint('lamp')\n```"]
    head, *rows = _cells(rng)
    table = [" | ".join(row) for row in (head, ["---"] * 3, *rows)]
    return "\n\n".join([*parts, "\n".join(f"| {row} |" for row in table)]) + "\n"
