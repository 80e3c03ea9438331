"""Makes PDFs with tables of many kinds."""

import io

from reportlab.lib import colors
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table, TableStyle

from .documents import HEIGHT, WIDTH, Made, Story, Style, make_grid
from .scores import Content


def make_numbers(story: Story, rows: int, columns: int, decimals: int = 2) -> list[list[str]]:
    head = ["Station", *(story.words(1).capitalize() for _ in range(columns - 1))]
    scale = [story.chance.choice([1, 10, 100, 1000]) for _ in range(columns)]
    lines = [
        [
            story.words(story.chance.randint(1, 2)),
            *(f"{story.chance.random() * scale[at]:.{decimals}f}" for at in range(1, columns)),
        ]
        for _ in range(rows)
    ]
    return [head, *lines]


GRID: Style = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
BOOK: Style = [
    ("LINEABOVE", (0, 0), (-1, 0), 0.8, colors.black),
    ("LINEBELOW", (0, 0), (-1, 0), 0.4, colors.black),
    ("LINEBELOW", (0, -1), (-1, -1), 0.8, colors.black),
]
BOLD_HEAD: Style = [("FONTNAME", (0, 0), (-1, 0), "Times-Bold")]
RIGHT: Style = [("ALIGN", (1, 0), (-1, -1), "RIGHT")]


def ruled_tables(seed: int) -> Made:
    """Tables with all rules, several per page."""
    story = Story(seed)
    for _ in range(5):
        story.paragraph(3)
        story.table(make_numbers(story, story.chance.randint(2, 7), story.chance.randint(2, 6)), GRID + BOLD_HEAD)
    return story.make("tables: ruled")


def half_ruled_tables(seed: int) -> Made:
    """Tables with rules above and below only."""
    story = Story(seed)
    for _ in range(5):
        story.paragraph(3)
        style = BOOK + (RIGHT if seed % 2 else [])
        story.table(make_numbers(story, story.chance.randint(2, 7), story.chance.randint(2, 6)), style)
    return story.make("tables: half-ruled")


def lined_tables(seed: int) -> Made:
    """Tables with a rule below each row, and cells of several lines."""
    story = Story(seed)
    for _ in range(4):
        story.paragraph(3)
        rows = [["Name", "Meaning", "Unit"]]
        rows += [[story.words(1), f"{story.words(5)}\n{story.words(4)}", story.words(1)] for _ in range(4)]
        story.table(rows, [("LINEBELOW", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    return story.make("tables: lines between rows")


def unruled_tables(seed: int) -> Made:
    """Tables without rules, some with empty cells."""
    story = Story(seed)
    for number in range(5):
        story.paragraph(3)
        rows = make_numbers(story, story.chance.randint(3, 7), story.chance.randint(3, 5))
        if number % 2:
            rows[2][1] = rows[3][2] = ""
        story.table(rows, BOLD_HEAD + (RIGHT if seed % 2 else []))
    return story.make("tables: unruled")


def decimal_tables(seed: int) -> Made:
    """Numbers aligned at the decimal point, in columns that are close."""
    story = Story(seed)
    for _ in range(4):
        story.paragraph(3)
        rows = make_numbers(story, 6, 5, story.chance.randint(1, 3))
        tight: Style = [("ALIGN", (1, 1), (-1, -1), "DECIMAL"), ("RIGHTPADDING", (1, 1), (-1, -1), 18)]
        story.table(rows, BOOK + tight, colWidths=[90, 70, 70, 70, 70])
    return story.make("tables: decimal")


def spanning_tables(seed: int) -> Made:
    """Cells that span columns and rows, and headers of two rows."""
    story = Story(seed)
    for number in range(4):
        story.paragraph(3)
        rows = [["Site", "First year", "", "Second year", ""], ["", "low", "high", "low", "high"]]
        rows += [[story.words(1), *(str(story.chance.randint(1, 99)) for _ in range(4))] for _ in range(4)]
        centred: Style = [("ALIGN", (1, 0), (-1, -1), "CENTER")]
        partial: Style = [
            ("LINEABOVE", (0, 0), (-1, 0), 0.8, colors.black),
            ("LINEBELOW", (1, 0), (2, 0), 0.4, colors.black),
            ("LINEBELOW", (3, 0), (4, 0), 0.4, colors.black),
            ("LINEBELOW", (0, 1), (-1, 1), 0.4, colors.black),
            ("LINEBELOW", (0, -1), (-1, -1), 0.8, colors.black),
        ]
        spans = [(0, 0, 0, 1), (1, 0, 2, 0), (3, 0, 4, 0)]
        story.table(rows, centred + (GRID if (seed + number) % 2 else partial), spans)
    return story.make("tables: spans")


def long_table(seed: int) -> Made:
    """A table that goes on over pages, with its header on each."""
    story = Story(seed)
    story.paragraph(3)
    rows = make_numbers(story, 70, 4)
    story.table(rows, (GRID if seed % 2 else BOOK) + BOLD_HEAD, repeatRows=1)
    story.paragraph(3)
    return story.make("tables: over pages")


def rotated_tables(seed: int) -> Made:
    """A wide table that is turned on its page, or on a page that is turned for display."""
    story = Story(seed)
    sentences = [story.sentence(10, 14) for _ in range(6)]
    rows = make_numbers(story, 7, 6)
    story.parts += sentences
    story.tables.append(make_grid(rows, ()))
    story.parts += [cell for row in rows for cell in row]
    packed = io.BytesIO()
    canvas = Canvas(packed, pagesize=(WIDTH, HEIGHT), invariant=1)
    if seed % 2:
        canvas.setPageRotation(90)
    canvas.translate(WIDTH, 0)
    canvas.rotate(90)
    canvas.setFont("Times-Roman", 10)
    for at, sentence in enumerate(sentences):
        canvas.drawString(60, WIDTH - 60 - 12 * at, sentence)
    style: Style = [("FONTNAME", (0, 0), (-1, -1), "Times-Roman"), *(GRID, BOOK, [])[seed % 3]]
    table = Table(rows, style=TableStyle(style))
    _, height = table.wrapOn(canvas, 600, 400)
    table.drawOn(canvas, 60, WIDTH - 160 - height)
    canvas.showPage()
    canvas.save()
    content = Content(" ".join(story.parts), [], story.tables, [], [])
    return Made("tables: rotated", packed.getvalue(), content)


def tight_tables(seed: int) -> Made:
    """Numbers that end directly before the next column, and begin directly after the longest name."""
    story = Story(seed)
    gap = (4.5, 3.6, 3.0)[seed % 3]
    for number in range(4):
        story.paragraph(3)
        rows = [["Station", "First", "Second", "Third"]]
        rows += [
            [story.words(story.chance.randint(1, 4)), *(f"{story.chance.random() * 1000:.1f}" for _ in range(3))]
            for _ in range(6)
        ]
        widths = [
            gap + max(stringWidth(row[column], "Times-Roman", 9) for row in rows) for column in range(len(rows[0]))
        ]
        tight: Style = [("LEFTPADDING", (0, 0), (-1, -1), 0), ("RIGHTPADDING", (0, 0), (-1, -1), 0), *RIGHT]
        story.table(rows, tight + (BOOK if number % 2 else BOLD_HEAD), colWidths=widths)
    return story.make("tables: tight numbers")
