"""Finds headings that the text of a paragraph follows on the same line: "1.2. Wicks. A wick is cut every day."

Such a heading has a number, and another font than the text after it. Whether the number is one of a heading is decided
when the whole document is known.
"""

from collections.abc import Iterable

import msgspec

from inorder.documents.readers.pdf.coordinates import SegmentReader
from inorder.documents.readers.pdf.segments import Lead, Segment

from .numbering import parse_number

WORDS_MAX = 14
REST_CHARACTERS_MIN = 8


def mark_leads(reader: SegmentReader, segments: Iterable[Segment]) -> None:
    """Set the lead of all segments that begin with a heading."""
    for segment in segments:
        if segment.text[0].isdigit() and not (segment.direction or segment.is_mono) and " " in segment.text:
            segment.lead = _find_lead(reader, segment)


def _find_lead(reader: SegmentReader, segment: Segment) -> Lead | None:
    text, (start, last) = segment.text, segment.span
    number = parse_number(text)
    if number is None or len(text) != last - start + 1:
        return None
    words = text[number.length :].split(" ")
    begins = [number.length]
    for word in words[: WORDS_MAX - 1]:
        begins.append(begins[-1] + len(word) + 1)
    begins = [begin for begin in begins if begin < len(text) and text[begin] != " "]
    traits = reader.traits_at([start + begin for begin in begins])
    title = traits[0]
    for begin, trait in zip(begins, traits, strict=True):
        if trait != title:
            rest = text[begin:]
            return Lead(begin, *title, *trait) if len(rest) >= REST_CHARACTERS_MIN and title[2] != trait[2] else None
    return None


def split_lead(segment: Segment) -> tuple[Segment, ...]:
    """The heading at the beginning of a line, and the rest of the line; the whole line if it has no lead."""
    lead = segment.lead
    if lead is None:
        return (segment,)
    middle = segment.x0 + (segment.x1 - segment.x0) * lead.length / len(segment.text)
    title = msgspec.structs.replace(
        segment,
        text=segment.text[: lead.length].rstrip(),
        x1=middle,
        is_bold=lead.is_bold,
        is_mono=lead.is_mono,
        face=lead.face,
        lead=None,
    )
    rest = msgspec.structs.replace(
        segment,
        text=segment.text[lead.length :],
        x0=middle,
        is_bold=lead.rest_is_bold,
        is_mono=lead.rest_is_mono,
        face=lead.rest_face,
        lead=None,
    )
    return title, rest
