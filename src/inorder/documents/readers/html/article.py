"""Finds the article of a page by how text is spread over it, as Readability does.

Each paragraph gives points to the boxes around it, fewer the further out. The box with the most points, less the share
of its text that is links, is the article. It grows to the box around it as long as that brings more prose than other
text. Neighbours with many points belong to it, and so does what stands between it and the main heading. What is left
out within it are boxes whose names, links or headings say that they are something else, such as related articles. No
box with a third of the prose is ever left out.

The points and most of the names are those of Readability (Apache-2.0), of Mozilla and of Arc90 before.
"""

import re
from collections.abc import Iterator

from .measure import Box
from .related import introduces_links, is_reference

_UNLIKELY = re.compile(
    r"-ad-|ai2html|banner|breadcrumb|combx|comment|community|cover-wrap|disqus|extra|footer|gdpr|header|legends|menu"
    r"|related|remark|replies|rss|shoutbox|sidebar|skyscraper|social|sponsor|supplemental|ad-break|agegate|pagination"
    r"|pager|popup|yom-remote|newsletter|trending|recommend|promo|outbrain|taboola|most-?(?:read|popular|viewed)"
    r"|cookie|subscri|signup|sign-up|paywall|dialog",
    re.I,
)
_LIKELY = re.compile(r"and|article|body|column|content|main|mathjax|shadow", re.I)
_POSITIVE = re.compile(r"article|body|content|entry|hentry|h-entry|main|page|pagination|post|text|blog|story", re.I)
_NEGATIVE = re.compile(
    r"-ad-|hidden|^hid$|banner|combx|comment|com-|contact|footer|gdpr|masthead|media|meta|outbrain|promo|related|scroll"
    r"|share|shoutbox|sidebar|skyscraper|sponsor|shopping|tags|(?<!elementor-)widget|newsletter|trending|recommend",
    re.I,
)
_BYLINE = re.compile(r"byline|timestamp|date-?line|posted-?on|(?:post|entry|article)-?meta|published|pub-?date", re.I)
_NAME_POINTS = 25
_SURROUNDINGS = frozenset(("body", "table", "tbody", "tr", "td"))
"""Elements whose names say nothing."""
_PARAGRAPHS = frozenset(("section", "h2", "h3", "h4", "h5", "h6", "p", "td", "pre"))
_DIVISIONS = frozenset(("div", "article", "main", "blockquote", "center"))
"""Elements whose own text is a paragraph."""
_POINTS = {
    "div": 5,
    **dict.fromkeys(("pre", "td", "blockquote"), 3),
    **dict.fromkeys(("address", "ol", "ul", "dl", "dd", "dt", "li", "form"), -3),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6", "th"), -5),
}
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_LISTS = frozenset(("ul", "ol"))
_CHECKED = frozenset(("form", "fieldset", "ul", "ol", "div", "section", "footer", "header", "p", "dl", "aside"))
_WHOLE = frozenset(("pre", "table", "figure"))
_PAGE_CHARACTERS_MIN = 400
_PARAGRAPH_CHARACTERS_MIN = 25
_LEVELS_MAX = 5
_SHARE_MAX = 1 / 3
_GAIN_MIN, _GAIN_OVER_LOSS_MIN = 0.2, 3
_PROSE_MIN, _PROSE_SHARE_MIN = 200, 1 / 4
"""An article with less than both is none."""
_LEAD_CHARACTERS_MAX = 800
_BYLINE_CHARACTERS_MAX = 150
_LIST_LINK_CHARACTERS_MIN = 30
"""The mean length of the links of a list of articles."""


def find_rest(page: Box, has_author: bool) -> list[Box] | None:
    """The boxes of a page that are not part of its article; None if the page has no article that stands out. A line
    with the author and the date is left out if they are known (`has_author`)."""
    if page.characters < _PAGE_CHARACTERS_MIN:
        return None
    article = _ArticleFinder(page, has_author)
    kept = article.find()
    if not kept:
        return None
    inside = [clutter for box in kept for clutter in article.list_clutter(box)]
    prose = sum(box.prose for box in kept) - sum(box.prose for box in inside)
    if prose < _PROSE_MIN and prose <= _PROSE_SHARE_MIN * page.prose:
        return None
    return [*article.list_others(kept), *inside]


class _ArticleFinder:
    def __init__(self, page: Box, has_author: bool) -> None:
        self._page = page
        self._has_author = has_author
        self._unlikely = set(self._list_unlikely())
        self._points: dict[Box, float] = {}

    def find(self) -> set[Box]:
        """The boxes of the article."""
        self._add_points()
        top = self._find_top()
        return set() if top is None else {top, *self._list_neighbours(top)}

    def _list_unlikely(self) -> Iterator[Box]:
        most = self._page.prose * _SHARE_MAX
        stack = [self._page]
        while stack:
            for box in stack.pop().boxes:
                if box.prose <= most and _has_unlikely_name(box):
                    yield box
                elif box.tag != "table":
                    stack.append(box)

    def _add_points(self) -> None:
        points = self._points
        stack = [self._page]
        while stack:
            box = stack.pop()
            stack.extend(inner for inner in box.boxes if inner not in self._unlikely)
            has_text = box.tag in _DIVISIONS and box.own
            if not has_text and box.tag not in _PARAGRAPHS:
                continue
            is_mixed = has_text and box.boxes
            length = box.own if is_mixed else box.characters
            if length < _PARAGRAPH_CHARACTERS_MIN:
                continue
            given = 2 + box.commas + min(length // 100, 3)
            outer = box if is_mixed else box.parent
            for level in range(_LEVELS_MAX):
                if outer is None:
                    break
                if outer not in points:
                    points[outer] = _POINTS.get(outer.tag, 0) + _weigh(outer.names)
                points[outer] += given / (level * 3 if level > 1 else level + 1)
                outer = outer.parent
        for box in points:
            points[box] *= 1 - box.link_share

    def _find_top(self) -> Box | None:
        points, page = self._points, self._page
        best = sorted(points, key=lambda box: -points[box])[:5]
        if not best or points[best[0]] <= 0:
            return None
        top = self._climb(self._join(best))
        while top.parent is not None and top.parent is not page and self._brings_prose(top, top.parent):
            top = top.parent
        return top

    def _join(self, best: list[Box]) -> Box:
        """The best box, or the one around it and at least three others that are nearly as good."""
        top = best[0]
        others = [set(box.list_around()) for box in best[1:] if self._points[box] >= 0.75 * self._points[top]]
        if len(others) >= 3:
            for outer in top.list_around():
                if outer is not self._page and sum(outer in each for each in others) >= 3:
                    return outer
        return top

    def _climb(self, top: Box) -> Box:
        """The first box around this one that has more points, if those between do not have far fewer."""
        last = self._points.get(top, 0.0)
        least = last / 3
        for outer in top.list_around():
            points = self._points.get(outer)
            if points is None or outer is self._page:
                continue
            if points < least:
                return top
            if points > last:
                return outer
            last = points
        return top

    def _brings_prose(self, inner: Box, outer: Box) -> bool:
        if len(outer.boxes) == 1:
            return True
        gain = loss = 0
        for box in outer.boxes:
            if box is not inner and box not in self._unlikely:
                gain += box.prose
                loss += box.characters - box.prose
        return gain > _GAIN_MIN * inner.prose and gain > _GAIN_OVER_LOSS_MIN * loss

    def _list_neighbours(self, top: Box) -> Iterator[Box]:
        most = self._points.get(top, 0.0)
        least = max(10.0, most * 0.2)
        for box in top.parent.boxes if top.parent is not None else ():
            if box is top or box in self._unlikely:
                continue
            bonus = most * 0.2 if box.names and box.names == top.names else 0
            is_long = box.characters > 80 and box.link_share < 0.25
            is_prose = box.tag == "p" and (is_long or (box.characters > 0 and not box.linked))
            if is_prose or (box in self._points and self._points[box] + bonus >= least):
                yield box

    def list_others(self, kept: set[Box]) -> Iterator[Box]:
        """The boxes beside the article, but for the main heading and the prose between it and the article."""
        path = {outer for box in kept for outer in box.list_around()}
        has_heading = is_reached = False
        stack = [self._page]
        while stack:
            box = stack.pop()
            if box in kept:
                is_reached = True
            elif box.tag == "h1":
                has_heading = True
            elif box in path or box.has_main_heading:
                stack.extend(reversed(box.boxes))
            elif is_reached or not has_heading or not self._is_lead(box):
                yield box

    def _is_lead(self, box: Box) -> bool:
        is_prose = 0 < box.characters < _LEAD_CHARACTERS_MAX and box.prose > 0.7 * box.characters
        return is_prose and box not in self._unlikely

    def list_clutter(self, top: Box) -> Iterator[Box]:
        """The boxes within a box of the article that do not belong to it."""
        most = top.prose * _SHARE_MAX
        stack = [top]
        while stack:
            is_related, before = False, ""
            for box in stack.pop().boxes:
                is_related = introduces_links(box) or (is_related and (not box.characters or box.link_share > 0.5))
                may_go = box.prose <= most and not box.has_main_heading
                is_clutter = is_related or box in self._unlikely or _is_clutter(box, before, most)
                if may_go and (is_clutter or (self._has_author and _is_byline(box))):
                    yield box
                elif box.tag not in _WHOLE:
                    stack.append(box)
                before = box.tag


def _has_unlikely_name(box: Box) -> bool:
    if not box.names or box.tag in _SURROUNDINGS or box.has_main_heading:
        return False
    return _UNLIKELY.search(box.names) is not None and _LIKELY.search(box.names) is None


def _is_clutter(box: Box, before: str, most: float) -> bool:
    """Whether a box of the article does not belong to it. `before` is the tag of the one before."""
    if box.tag not in _CHECKED:
        return False
    if box.tag == "p":
        return is_reference(box)
    if box.tag == "footer":
        return True
    if box.tag == "aside":
        return box.prose < 0.5 * box.characters or box.link_share > 0.2
    points = _weigh(box.names)
    if points < 0:
        return True
    if box.tag in _LISTS and before not in _HEADINGS and box.characters <= most and _has_titles(box):
        return True
    return box.commas < 10 and _has_controls_or_links(box, points)


def _is_byline(box: Box) -> bool:
    is_short = box.tag in _CHECKED and box.characters < _BYLINE_CHARACTERS_MAX
    return is_short and _BYLINE.search(box.names) is not None


def _has_titles(box: Box) -> bool:
    """Whether the text of a list is the titles of other articles."""
    return box.link_share > 0.8 and box.characters > _LIST_LINK_CHARACTERS_MIN * box.links


def _has_controls_or_links(box: Box, points: int) -> bool:
    if box.controls > box.paragraphs / 3:
        return True
    if box.tag not in _LISTS and (box.items - 100 > box.paragraphs or (points < _NAME_POINTS and box.link_share > 0.2)):
        return True
    return points >= _NAME_POINTS and box.link_share > 0.5


def _weigh(names: str) -> int:
    """Points for the names of an element."""
    return sum(
        _NAME_POINTS * ((_POSITIVE.search(name) is not None) - (_NEGATIVE.search(name) is not None))
        for name in names.split("\n")
    )
