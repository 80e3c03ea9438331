"""Makes tagged PDFs: their structure tree says what is a heading, and nothing else does."""

import textwrap

from .documents import Made, Story
from .scores import Content

LINES_PER_PAGE = 46
LINE_CHARACTERS = 88

Tagged = tuple[str, list[str]]
"""The type of an element, and its lines."""


def tagged_headings(seed: int) -> Made:
    """Headings in the style of the text that only the structure tree names."""
    story = Story(seed)
    elements: list[Tagged] = []

    def add(kind: str, text: str) -> None:
        story.parts.append(text)
        elements.append((kind, textwrap.wrap(text, LINE_CHARACTERS)))

    for _ in range(4):
        story.headings.append((1, story.words(3).capitalize()))
        add("H1", story.headings[-1][1])
        add("P", story.prose(5))
        for _ in range(2):
            story.headings.append((2, story.words(18 if seed % 2 else 4).capitalize()))
            add("H2", story.headings[-1][1])
            add("P", story.prose(6))
    content = Content(" ".join(story.parts), story.headings, [], [], [])
    return Made("headings: tagged", write_tagged_pdf(elements), content)


def write_tagged_pdf(elements: list[Tagged]) -> bytes:
    """A PDF with these elements one below the other. Each is on one page."""
    pages: list[list[Tagged]] = [[]]
    for element in elements:
        if sum(len(lines) + 1 for _, lines in pages[-1]) + len(element[1]) > LINES_PER_PAGE:
            pages.append([])
        pages[-1].append(element)
    first_page = 5
    first_element = first_page + 2 * len(pages)
    objects: dict[int, str] = {}
    kids: list[str] = []
    parents: list[str] = []
    for number, page in enumerate(pages):
        at = first_page + 2 * number
        objects[at] = (
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
            f"/Contents {at + 1} 0 R/StructParents {number}>>"
        )
        content = _draw_page(page)
        objects[at + 1] = f"<</Length {len(content)}>>stream\n{content}\nendstream"
        marked = []
        for mark, (kind, _) in enumerate(page):
            reference = f"{first_element + len(kids)} 0 R"
            objects[first_element + len(kids)] = f"<</Type/StructElem/S/{kind}/P 4 0 R/Pg {at} 0 R/K {mark}>>"
            kids.append(reference)
            marked.append(reference)
        parents.append(f"{number}[{' '.join(marked)}]")
    objects[1] = "<</Type/Catalog/Pages 2 0 R/StructTreeRoot 4 0 R/MarkInfo<</Marked true>>>>"
    pages_at = " ".join(f"{first_page + 2 * number} 0 R" for number in range(len(pages)))
    objects[2] = f"<</Type/Pages/Kids[{pages_at}]/Count {len(pages)}>>"
    objects[3] = "<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>"
    tree = f"<</Nums[{' '.join(parents)}]>>"
    objects[4] = f"<</Type/StructTreeRoot/K[{' '.join(kids)}]/ParentTree {tree}/ParentTreeNextKey {len(pages)}>>"
    return write_objects(objects)


def _draw_page(page: list[Tagged]) -> str:
    top = 780
    parts: list[str] = []
    for mark, (kind, lines) in enumerate(page):
        parts.append(f"/{kind}<</MCID {mark}>>BDC BT /F 10 Tf 12 TL 60 {top} Td")
        parts += [f"({line}) Tj T*" for line in lines]
        parts.append("ET EMC")
        top -= 12 * len(lines) + 6
    return "\n".join(parts)


def write_objects(objects: dict[int, str]) -> bytes:
    """A PDF of these objects. The first is its catalog."""
    data = b"%PDF-1.7\n"
    places: list[int] = []
    for number in sorted(objects):
        places.append(len(data))
        data += f"{number} 0 obj\n{objects[number]}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF"
    )
    return data + tail.encode()
