"""Makes PDFs of many kinds whose content is known exactly: the same ones every time."""

from collections.abc import Callable, Sequence

from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, PageBreak, Paragraph

from .documents import BODY, HEIGHT, MARGIN, WIDTH, WORDS, Made, Story
from .furniture_kinds import drafts, line_numbers, one_page_journal, one_page_letter, running_heads, watermarks
from .hebrew import right_to_left_tables
from .table_kinds import (
    BOOK,
    decimal_tables,
    half_ruled_tables,
    lined_tables,
    long_table,
    make_numbers,
    rotated_tables,
    ruled_tables,
    spanning_tables,
    tight_tables,
    unruled_tables,
)
from .tagged import tagged_headings


def sized_headings(seed: int) -> Made:
    """Headings of three sizes."""
    story = Story(seed)
    story.title("Notes on the keeping of lights")
    for _ in range(4):
        story.heading(1, story.words(3).capitalize(), fontName="Times-Bold", fontSize=14)
        story.paragraph()
        for _ in range(2):
            story.heading(2, story.words(4).capitalize(), fontName="Times-Bold", fontSize=12)
            story.paragraph(8)
    return story.make("headings: by size")


def wrapped_headings(seed: int) -> Made:
    """Headings that take two or three lines."""
    story = Story(seed)
    story.title(f"On {story.words(14)}")
    for number in range(1, 5):
        story.heading(1, f"{number} {story.words(16).capitalize()}", fontName="Times-Bold", fontSize=13)
        story.paragraph(6)
        story.heading(2, f"{number}.1 {story.words(21).capitalize()}", fontName="Times-Bold", fontSize=10)
        story.paragraph(7)
    return story.make("headings: wrapped", columns=(0.5, 0.5) if seed % 2 else (1.0,))


def numbered_headings(seed: int) -> Made:
    """Numbered headings in the size of the text: bold, italic, or plain."""
    story = Story(seed)
    story.title(f"A report on {story.words(3)}")
    font = ("Times-Bold", "Times-Italic", "Times-Roman")[seed % 3]
    for number in range(1, 6):
        story.heading(1, f"{number}. {story.words(2).capitalize()}", fontName="Times-Bold" if seed % 2 else font)
        story.paragraph(4)
        for part in range(1, 4):
            story.heading(2, f"{number}.{part}. {story.words(3).capitalize()}", fontName=font)
            story.paragraph(5)
        story.paragraph(text=f"1. {story.sentence()}")
        story.paragraph(text=f"2. {story.sentence()}")
    return story.make("headings: numbered, body size", columns=(0.5, 0.5) if seed % 2 else (1.0,))


def small_caps_headings(seed: int) -> Made:
    """Centred headings in small capitals with Roman numbers, and italic ones with letters."""
    story = Story(seed)
    story.title(story.words(8).capitalize())
    for number in ("I", "II", "III", "IV"):
        name = story.words(2)
        capitals = " ".join(f"{word[0].upper()}<font size=8>{word[1:].upper()}</font>" for word in name.split())
        story.heading(1, f"{number}. {name.upper()}", f"{number}. {capitals}", alignment=1)
        story.paragraph(6)
        for letter in "AB":
            story.heading(2, f"{letter}. {story.words(3).title()}", fontName="Times-Italic")
            story.paragraph(6)
    return story.make("headings: small caps", columns=(0.5, 0.5))


def bold_headings(seed: int) -> Made:
    """Headings that are only bold, and bold words that are none."""
    story = Story(seed)
    story.title(story.words(5).capitalize())
    for _ in range(6):
        story.heading(1, story.words(3).capitalize(), fontName="Times-Bold")
        story.paragraph(5)
        text = story.prose(4)
        story.parts.append(f"Note. {text}")
        story.flowables.append(Paragraph(f"<b>Note.</b> {text}", BODY))
    return story.make("headings: bold only")


def run_in_headings(seed: int) -> Made:
    """Numbered headings, the lower ones with the text of their first paragraph on the same line."""
    story = Story(seed)
    story.title(story.words(5).capitalize())
    font, tag = ("Times-Bold", "b") if seed % 2 else ("Times-Roman", "i")
    for number in range(1, 5):
        story.heading(1, f"{number}. {story.words(3).capitalize()}", fontName=font, alignment=1)
        story.paragraph(4)
        for part in range(1, 4):
            name, text = f"{number}.{part}. {story.words(3).capitalize()}.", story.prose(5)
            story.headings.append((2, name))
            story.parts += [name, text]
            story.flowables.append(Paragraph(f"<{tag}>{name}</{tag}> {text}", ParagraphStyle("r", BODY, spaceBefore=6)))
    return story.make("headings: run-in", columns=(0.5, 0.5) if seed % 2 else (1.0,))


def outlined_headings(seed: int) -> Made:
    """Headings that the outline of the PDF names and whose style says little."""
    story = Story(seed)
    story.title(story.words(6).capitalize())
    for _ in range(5):
        story.heading(1, story.words(3).capitalize(), outline=True, fontName="Times-Italic")
        story.paragraph(5)
        story.heading(2, story.words(4).capitalize(), outline=True, spaceBefore=6)
        story.paragraph(5)
    return story.make("headings: in the outline")


def unequal_columns(seed: int) -> Made:
    """Two columns, one of them twice as wide as the other."""
    story = Story(seed)
    for _ in range(14):
        story.paragraph(5, alignment=4 if seed % 2 else 0)
    return story.make("columns: unequal", columns=(0.66, 0.34) if seed % 2 else (0.36, 0.64))


def floats_in_columns(seed: int) -> Made:
    """Two columns with tables and captions in them."""
    story = Story(seed)
    for number in range(1, 5):
        story.paragraph(7)
        story.paragraph(text=f"Table {number}: {story.words(6)}", fontSize=9)
        story.table(make_numbers(story, 5, 3), BOOK)
        story.paragraph(7)
    return story.make("columns: with tables", columns=(0.5, 0.5))


def footnotes(seed: int) -> Made:
    """Notes below the text of two columns, which are read after it."""
    story = Story(seed)
    for _ in range(12):
        story.paragraph(5)
    notes = [f"{number} {story.sentence(7, 10)}" for number in (1, 2)]
    story.parts += notes

    def below(canvas: Canvas) -> None:
        if canvas.getPageNumber() > 1:
            return
        canvas.setLineWidth(0.4)
        canvas.line(MARGIN, 58, MARGIN + 120, 58)
        canvas.setFont("Times-Roman", 8)
        for index, note in enumerate(notes):
            canvas.drawString(MARGIN, 48 - 10 * index, note)

    return story.make("text: footnotes", below)


def captions(seed: int) -> Made:
    """Figures with captions between paragraphs."""
    story = Story(seed)
    for number in range(1, 5):
        story.paragraph(5)
        story.flowables.append(_Figure())
        story.paragraph(text=f"Figure {number}: {story.sentence(8, 24)}", fontSize=9, leading=11)
    return story.make("text: captions")


class _Figure(Flowable):
    """A drawing with a few words in it that belong to the figure."""

    def wrap(self, *_: float) -> tuple[float, float]:
        return 200, 90

    def draw(self) -> None:
        for index in range(4):
            self.canv.rect(10 + 45 * index, 5, 30, 20 + 15 * index, fill=1)


def code_blocks(seed: int) -> Made:
    """Listings between paragraphs."""
    story = Story(seed)
    for number in range(4):
        story.paragraph(4)
        name = story.chance.choice(WORDS)
        lines = [f"def {name}(count: int) -> int:", "    total = 0", "    for index in range(count):"]
        story.listing([*lines, f"        total += index * {number + 2}", "", "    return total"])
    story.paragraph(4)
    return story.make("blocks: code")


def formulas(seed: int) -> Made:
    """Displayed formulas with raised and lowered letters."""
    story = Story(seed)
    for number in range(1, 5):
        story.paragraph(4)
        text = f"E = m c2 + {number} x1 ({number})"
        markup = (
            f"<i>E</i> = <i>m</i> <i>c</i><super size=7>2</super> + {number} <i>x</i><sub size=7>1</sub> ({number})"
        )
        story.parts.append(text)
        story.flowables.append(Paragraph(f"{markup} ({number})", ParagraphStyle("f", BODY, alignment=1, spaceBefore=6)))
        story.paragraph(4)
    return story.make("blocks: formulas")


def hyphenated(seed: int) -> Made:
    """Narrow columns with words broken at the end of lines."""
    story = Story(seed)
    long = ("observation", "measurement", "lighthouse", "extraordinary", "investigation", "representative")
    for _ in range(8):
        words = [story.chance.choice(long) if story.chance.random() < 0.3 else story.words(1) for _ in range(70)]
        text = f"{' '.join(words).capitalize()}."
        story.parts.append(text)
        story.flowables += [Paragraph("<br/>".join(_break_lines(words, 34)), BODY)]
    return story.make("text: hyphenation", columns=(0.33, 0.33, 0.34))


def _break_lines(words: Sequence[str], width: int) -> list[str]:
    """Lines of at most this many characters, with long words broken in the middle."""
    lines, line = [], ""
    for word in [words[0].capitalize(), *words[1:-1], f"{words[-1]}."]:
        if len(line) + len(word) < width:
            line = f"{line} {word}".strip()
            continue
        room = width - len(line) - 2
        if len(word) > 8 and 3 <= room <= len(word) - 3:
            lines.append(f"{line} {word[:room]}-")
            line = word[room:]
        else:
            lines.append(line)
            line = word
    return [*lines, line]


def paper(seed: int) -> Made:
    """All of it together: a paper of two columns."""
    story = Story(seed)
    story.title(story.words(9).capitalize())
    story.paragraph(text=f"Abstract. {story.prose(5)}", leftIndent=20, rightIndent=20)
    for number in range(1, 5):
        story.heading(1, f"{number} {story.words(3).capitalize()}", fontName="Times-Bold", fontSize=12)
        story.paragraph(6)
        story.heading(2, f"{number}.1 {story.words(4).capitalize()}", fontName="Times-Bold")
        story.paragraph(6, alignment=4)
        story.paragraph(text=f"Table {number}: {story.words(7)}", fontSize=9)
        story.table(make_numbers(story, 4, 4), BOOK)
        story.paragraph(6, alignment=4)
    story.flowables.append(PageBreak())
    story.heading(1, "References", fontName="Times-Bold", fontSize=12)
    for number in range(1, 7):
        story.paragraph(text=f"[{number}] {story.sentence(12, 20)}", fontSize=9)
    name = f"{story.words(3)} et al."
    story.furniture.append(name)

    def edges(canvas: Canvas) -> None:
        canvas.setFont("Times-Italic", 8)
        canvas.drawCentredString(WIDTH / 2, HEIGHT - 36, name)
        canvas.drawCentredString(WIDTH / 2, 32, str(canvas.getPageNumber()))

    return story.make("paper", edges, (0.5, 0.5))


KINDS: tuple[Callable[[int], Made], ...] = (
    sized_headings,
    wrapped_headings,
    numbered_headings,
    small_caps_headings,
    bold_headings,
    run_in_headings,
    outlined_headings,
    tagged_headings,
    unequal_columns,
    floats_in_columns,
    ruled_tables,
    half_ruled_tables,
    lined_tables,
    unruled_tables,
    decimal_tables,
    spanning_tables,
    long_table,
    rotated_tables,
    tight_tables,
    right_to_left_tables,
    one_page_letter,
    one_page_journal,
    running_heads,
    line_numbers,
    drafts,
    watermarks,
    footnotes,
    captions,
    code_blocks,
    formulas,
    hyphenated,
    paper,
)


def make_documents(each: int) -> list[Made]:
    """So many documents of every kind."""
    return [make(seed) for make in KINDS for seed in range(each)]
