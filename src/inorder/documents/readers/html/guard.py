"""Removes from HTML what would cost a parser far more than its size.

By the rules of HTML a small page can be very expensive. A tag is looked up through all open tags, so a hundred thousand
nested tags take a minute. Formatting that is never closed is reopened in every paragraph, so forty kilobytes become a
gigabyte. Every attribute is compared with all others of its tag. Pages that work in browsers have none of this. Tags
that are nested too deep, formatting tags that would multiply, and hundreds of attributes on a tag are removed; the text
stays. A page that is still too large is refused.
"""

import re
from collections.abc import Iterator

from inorder.documents.readers.document import require_size
from inorder.errors import ReadError

BYTES_MAX = 64 * 2**20
"""The tree, its text and the blocks need about ten times the size of the page in memory."""
SMALL_BYTES = 16_384
SMALL_TAGS = 1_000
"""A page below both limits is harmless and is not checked."""
DEPTH_MAX = 500
"""Levels of nesting. Browsers stop at 512."""
FORMATTING_COST_MAX = 1_000_000
"""Limit of the highest number of open formatting tags, times the number of all tags."""
ATTRIBUTES_MAX = 500
"""Attributes per tag."""
NODES_MAX = 3_000_000
"""Tags and attributes per page. Each needs about a hundred bytes of memory."""

_VALUE = rb"""(?:"[^"]*+"|'[^']*+'|[^\s>]*+)"""
_ATTRIBUTE = rb"(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+" + _VALUE + rb")?+"
_TAG = re.compile(rb"<(?:(!--)|(/?)([a-zA-Z][^\s/>]*+)((?:[\s/]++|" + _ATTRIBUTE + rb")*+))")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_RAW = frozenset(b"script style textarea title xmp iframe noembed noframes".split())
"""Tags whose content is not HTML, except within SVG and MathML."""
_FOREIGN = frozenset((b"svg", b"math"))
_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_NEVER_NESTED = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li dt dd td th tr tbody thead tfoot option optgroup colgroup caption rt rp rb a button html head body".split()
)
"""Tags that have no content, or that the next tag of their kind closes."""


def sanitize(data: bytes) -> bytes:
    """The page, changed if necessary so that it can be parsed in reasonable time and memory. The text is the same."""
    require_size(data, BYTES_MAX, "HTML")
    if len(data) <= SMALL_BYTES and data.count(b"<") <= SMALL_TAGS:
        return data
    statistics = _TagStatistics(data)
    if statistics.nodes > NODES_MAX:
        raise ReadError(f"the page has more than {NODES_MAX:,} tags and attributes")
    return data if statistics.is_harmless else b"".join(_prune(data, statistics.has_runaway_formatting))


def _find_tags(data: bytes) -> Iterator[re.Match[bytes]]:
    """Every tag, except those in comments and scripts."""
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
    """Nesting, formatting and attributes of a page, from one pass over its tags."""

    def __init__(self, data: bytes) -> None:
        depth = depth_max = formatting = formatting_max = attributes_max = 0
        nodes = tags = 0
        for match in _find_tags(data):
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
        self.has_runaway_formatting = formatting_max > 3 and formatting_max * tags > FORMATTING_COST_MAX
        self.is_harmless = (
            depth_max <= DEPTH_MAX and attributes_max <= ATTRIBUTES_MAX and not self.has_runaway_formatting
        )


def _prune(data: bytes, drop_formatting: bool) -> Iterator[bytes]:
    """The page without what is harmful. A removed tag becomes a `br` or `wbr`, so that words stay separate."""
    reached = depth = 0
    for match in _find_tags(data):
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
