"""Makes PDFs with things at the edges of pages that are no part of the text."""

import io

from reportlab.pdfgen.canvas import Canvas

from .documents import HEIGHT, MARGIN, WIDTH, Made, Story
from .scores import Content


def one_page_letter(seed: int) -> Made:
    """One page with a running head, a page number and a footer."""
    story = Story(seed)
    head, foot = f"Journal of {story.words(2)}, Vol. {seed + 3} (1998)", "Page 1 of 1" if seed % 2 else "117"
    story.furniture += [head, foot]
    for _ in range(8):
        story.paragraph(4)

    def edges(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", 8)
        canvas.drawCentredString(WIDTH / 2, HEIGHT - 36, head)
        canvas.drawCentredString(WIDTH / 2, 32, foot)

    return story.make("furniture: one page", edges)


def running_heads(seed: int) -> Made:
    """Several pages with running heads and page numbers."""
    story = Story(seed)
    name = story.words(4).capitalize()
    story.title(name)
    for _ in range(22):
        story.paragraph(6)
    story.furniture.append(f"{name} reprinted")

    def edges(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", 8)
        number = canvas.getPageNumber()
        canvas.drawString(MARGIN, HEIGHT - 36, f"{name} reprinted")
        canvas.drawRightString(WIDTH - MARGIN, HEIGHT - 36, str(number + 41))

    return story.make("furniture: running heads", edges)


def line_numbers(seed: int) -> Made:
    """Lines numbered in the margin."""
    story = Story(seed)
    for _ in range(9):
        story.paragraph(5, spaceAfter=0)
    count = 40
    story.furniture += [f"{number} {number + 1} {number + 2}" for number in range(1, count - 2, 3)]

    def margin(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", 7)
        for number in range(count):
            canvas.drawRightString(MARGIN - 14, HEIGHT - MARGIN - 10 - 12 * number, str(number + 1))

    return story.make("furniture: line numbers", margin)


def watermarks(seed: int) -> Made:
    """A word across each page, and the stamp of an archive in the margin of the first."""
    story = Story(seed)
    for _ in range(14):
        story.paragraph(6)
    word, stamp = ("DRAFT COPY", "CONFIDENTIAL")[seed % 2], f"arXiv:2301.0000{seed}v2 [cs.DL] 4 Jan 2023"
    story.furniture += [word, stamp]

    def across(canvas: Canvas) -> None:
        canvas.saveState()
        canvas.setFillGray(0.85)
        canvas.setFont("Helvetica-Bold", 54)
        canvas.translate(WIDTH / 2, HEIGHT / 2)
        canvas.rotate(45)
        canvas.drawCentredString(0, 0, word)
        canvas.restoreState()
        if canvas.getPageNumber() == 1:
            canvas.saveState()
            canvas.setFont("Times-Roman", 16)
            canvas.translate(34, HEIGHT / 3)
            canvas.rotate(90)
            canvas.drawString(0, 0, stamp)
            canvas.restoreState()

    return story.make("furniture: watermarks", across)


def one_page_journal(seed: int) -> Made:
    """One page of a journal: names and a number above the text, notices below it, all in small type."""
    story = Story(seed)
    head = (f"{story.words(3).title()}", f"{seed + 204} {story.words(2).upper()}", f"Lights 2004, {seed}, 212-220")[
        seed % 3
    ]
    feet = (
        ("\u00a9 2004 The Cooperative of Keepers of Lights. All rights reserved.", "iv"),
        ("https://lights.example.org/handbook/2004", "A-12"),
        ("Downloaded from lights.example.org by a guest on 3 March 2011", "3-14"),
    )[seed % 3]
    story.furniture += [head, feet[0]]
    for _ in range(8):
        story.paragraph(4)

    def edges(canvas: Canvas) -> None:
        canvas.setFont("Times-Italic", 8)
        canvas.drawString(MARGIN, HEIGHT - 40, head)
        canvas.setFont("Times-Roman", 7)
        canvas.drawString(MARGIN, 40, feet[0])
        canvas.drawCentredString(WIDTH / 2, 30, feet[1])

    return story.make("furniture: page of a journal", edges)


def drafts(seed: int) -> Made:
    """Pages of a draft whose lines are drawn together with their numbers: all lines, or every fifth."""
    story = Story(seed)
    step, is_left = (1, 5)[seed % 2], seed % 3 < 2
    packed = io.BytesIO()
    canvas = Canvas(packed, pagesize=(WIDTH, HEIGHT), invariant=1)
    for page in range(2):
        for line in range(34):
            number, height = 34 * page + line + 1, HEIGHT - 90 - 20 * line
            text = story.words(13) + ("." if number % 4 == 0 else "")
            text = text.capitalize() if number % 4 == 1 else text
            story.parts.append(text)
            canvas.setFont("Times-Roman", 8)
            if number % step == 0 and is_left:
                canvas.drawRightString(MARGIN - 10, height, str(number))
            canvas.setFont("Times-Roman", 11)
            canvas.drawString(MARGIN, height, text)
            canvas.setFont("Times-Roman", 8)
            if number % step == 0 and not is_left:
                canvas.drawString(WIDTH - MARGIN + 10, height, str(number))
        canvas.showPage()
    canvas.save()
    return Made("furniture: drafts", packed.getvalue(), Content(" ".join(story.parts), [], [], [], []))
