"""HTML that would cost a parser far more than its size, made harmless before it is parsed.

The rules of HTML let a small page cost a great deal: a tag looks up through all open ones, so a hundred thousand nested
tags take a minute; formatting that is never closed is opened again in every paragraph, so forty kilobytes become a
gigabyte; and every attribute is compared with all the others of its tag. Pages that browsers show well have none of
this. Tags past a depth no page needs are taken out, and so are formatting tags that multiply and attributes by the
hundred: the text stays. What is still too much is refused.
"""

import re
from collections.abc import Iterator

from inorder.errors import ReadError

BYTES_MAX = 64 * 2**20
"""The tree, its text and the blocks made of it take about ten times the size of a page in memory."""
SMALL_BYTES = 16_384
SMALL_TAGS = 1_000
"""A page within both does no harm whatever is in it, and is not looked at."""
DEPTH_MAX = 500
"""Browsers stop at 512."""
RUNAWAY_FORMATTING_MIN = 1_000_000
"""Formatting tags open at once, times all tags."""
ATTRIBUTES_MAX = 500
"""Of one tag."""
NODES_MAX = 3_000_000
"""Tags and attributes of a page: about a hundred bytes of memory each."""

_VALUE = rb"""(?:"[^"]*+"|'[^']*+'|[^\s>]*+)"""
_ATTRIBUTE = rb"(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+" + _VALUE + rb")?+"
_TAG = re.compile(rb"<(?:(!--)|(/?)([a-zA-Z][^\s/>]*+)((?:[\s/]++|" + _ATTRIBUTE + rb")*+))")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_RAW = frozenset(b"script style textarea title xmp iframe noembed noframes".split())
"""Tags whose content is not HTML, except in pictures and formulas."""
_FOREIGN = frozenset((b"svg", b"math"))
_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_NEVER_NESTED = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li dt dd td th tr tbody thead tfoot option optgroup colgroup caption rt rp rb a button html head body".split()
)
"""Tags that never have content, or that are closed by the next of their kind."""


def sanitize(data: bytes) -> bytes:
    """The same page, or one with the same text that can be parsed in reasonable time and memory."""
    if len(data) > BYTES_MAX:
        raise ReadError(f"{len(data):,} bytes of HTML; the limit is {BYTES_MAX:,}")
    if len(data) <= SMALL_BYTES and data.count(b"<") <= SMALL_TAGS:
        return data
    statistics = _TagStatistics(data)
    if statistics.nodes > NODES_MAX:
        raise ReadError(f"more than {NODES_MAX:,} tags and attributes")
    return data if statistics.is_harmless else b"".join(_prune(data, statistics.has_runaway_formatting))


def _tags(data: bytes) -> Iterator[re.Match[bytes]]:
    """Every tag, but for those in comments and scripts."""
    lowered = data.lower()
    position = foreign = 0
    while match := _TAG.search(data, position):
        position = match.end()
        comment, closing, tag, _ = match.groups()
        if comment:
            end = data.find(b"-->", position)
            if end < 0:
                return
            position = end
            continue
        yield match
        name = tag.lower()
        if name in _FOREIGN:
            foreign = max(foreign + (-1 if closing else 1), 0)
        elif name in _RAW and not closing and not foreign:
            end = lowered.find(b"</" + name, position)
            if end < 0:
                return
            position = end


class _TagStatistics:
    """What one look over the tags shows."""

    def __init__(self, data: bytes) -> None:
        depth = depth_max = formatting = formatting_max = attributes_max = 0
        nodes = tags = 0
        for match in _tags(data):
            tags += 1
            _, closing, tag, rest = match.groups()
            if rest:
                attributes = len(_ATTRIBUTES.findall(rest))
                nodes += attributes
                attributes_max = max(attributes_max, attributes)
            name = tag.lower()
            if name not in _NEVER_NESTED:
                depth = max(depth + (-1 if closing else 1), 0)
                depth_max = max(depth_max, depth)
            if name in _FORMATTING:
                formatting = max(formatting + (-1 if closing else 1), 0)
                formatting_max = max(formatting_max, formatting)
            if nodes + tags > NODES_MAX:
                break
        self.nodes = nodes + tags
        self.has_runaway_formatting = formatting_max > 3 and formatting_max * tags > RUNAWAY_FORMATTING_MIN
        self.is_harmless = (
            depth_max <= DEPTH_MAX and attributes_max <= ATTRIBUTES_MAX and not self.has_runaway_formatting
        )


def _prune(data: bytes, drop_formatting: bool) -> Iterator[bytes]:
    """The page without what does harm. A tag taken out leaves a space behind, so that no two words become one."""
    reached = depth = 0
    for match in _tags(data):
        _, closing, tag, rest = match.groups()
        name = tag.lower()
        replacement = None
        if name not in _NEVER_NESTED:
            before = depth
            depth = max(depth + (-1 if closing else 1), 0)
            if max(before, depth) > DEPTH_MAX:
                replacement = b"<br"
        if drop_formatting and name in _FORMATTING:
            replacement = b"<wbr"
        elif replacement is None and rest and len(_ATTRIBUTES.findall(rest)) > ATTRIBUTES_MAX:
            replacement = b"<" + closing + tag
        if replacement is not None:
            yield data[reached : match.start()]
            yield replacement
            reached = match.end()
    yield data[reached:]
