"""Parts of a text that are marked, such as bold words: where they are in the text when its white space is collapsed."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter

from inorder.documents.model import Span, SpanKind

from .whitespace import collapse_whitespace

Mark = tuple[SpanKind, int, int]
"""The number of the first piece of a marked part of the text, and of the piece after its last."""
_JOINED = ("bold", "italic")
_BEGIN_OF = itemgetter(1)


def collapse_marked(pieces: Sequence[str], marks: Iterable[Mark]) -> tuple[str, list[Span]]:
    """Join the pieces of a text and collapse its white space. Returns the text, and its marked parts."""
    begins = [0, *accumulate(map(len, pieces))]
    last = len(pieces)
    return collapse_spans(
        "".join(pieces), [(kind, begins[min(begin, last)], begins[min(end, last)]) for kind, begin, end in marks]
    )


def collapse_spans(raw: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """Collapse the white space of a text. Returns the text, and its spans by where they begin.

    A span begins and ends with a character that is not white space; an empty one is left out. Spans of one kind that
    overlap or are apart by a space are one.
    """
    text = collapse_whitespace(raw)
    found = spans if text == raw else _map_spans(raw, spans)
    if len(found) == 1 and _is_trimmed(text, *found[0]):
        return text, [found[0]]
    return text, _tidy_spans(text, found)


def _is_trimmed(text: str, kind: SpanKind, begin: int, end: int) -> bool:
    return begin < end and text[begin] != " " != text[end - 1]


def _tidy_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans by where they begin, without spaces at their ends. Those of one kind that meet are one."""
    found = sorted(spans, key=_BEGIN_OF)
    kept: list[Span] = []
    last: dict[SpanKind, int] = {}
    """By kind, the number of its last span."""
    for kind, begin, end in found:
        if begin < end and not _is_trimmed(text, kind, begin, end):
            part = text[begin:end]
            begin, end = end - len(part.lstrip()), begin + len(part.rstrip())
        if begin >= end:
            continue
        number = last.get(kind)
        if number is not None and kind in _JOINED and not text[kept[number][2] : begin].strip():
            kept[number] = (kind, kept[number][1], max(kept[number][2], end))
        else:
            last[kind] = len(kept)
            kept.append((kind, begin, end))
    kept.sort(key=_BEGIN_OF)
    return kept


def _map_spans(raw: str, spans: Sequence[Span]) -> list[Span]:
    """The spans of a text whose white space is collapsed."""
    cuts = sorted({0, len(raw), *(cut for _, *ends in spans for cut in ends)})
    places = {0: 0}
    """Where each cut is. A space beside a cut is after it."""
    length = 0
    is_apart = False
    for cut, end in pairwise(cuts):
        piece = raw[cut:end]
        text = collapse_whitespace(piece)
        is_apart = is_apart or piece[0].isspace()
        if text:
            length += len(text) + (1 if is_apart and length else 0)
        is_apart = piece[-1].isspace() or (is_apart and not text)
        places[end] = length
    return [(kind, places[begin], places[end]) for kind, begin, end in spans]


def move_spans(spans: Iterable[Span], by: int) -> list[Span]:
    """The spans in a text that has so many characters more before it."""
    return [(kind, begin + by, end + by) for kind, begin, end in spans]
