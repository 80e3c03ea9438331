"""Finds what is on a page beside its article: comments, related links, bars to share, advertisements, menus.

What tags and roles say is excluded by `rules`. This module goes by the names that authors give to elements in `class`
and `id`. Some names are enough; others count outside of the main content, for elements whose text is mostly links, and
for a short notice about rights in a footer. An unnamed list of short links is a menu too, unless it follows a heading.
An element with the main heading or with most of the text of the page is never left out.
"""

import re
from collections.abc import Iterator
from functools import cached_property

from selectolax.lexbor import LexborNode

_START, _END = r"(?:^|[\s_-])", r"(?:$|[\s_-])"
_COMMENTS = r"comments|comment-?(?:list|section|area|thread|respond|form|wrapper|stream)|commentlist|disqus\w*|respond"
_SHARING = (
    r"share|sharing|share-?(?:bar|buttons|links|tools)|sharedaddy|social|social-?(?:media|links|icons|share)|addtoany"
)
_RELATED = r"related-?(?:posts|articles|links|stories|news)|recommended|recommendations|recirc|read-?next|more-stories"
_SIGNUP = r"newsletter|subscribe|subscription|signup|sign-up|paywall|popup|pop-up"
_ADS = r"ads?|advert|advertisement|adsbygoogle|ad-?(?:banner|slot|unit|container)|sponsored|promo|promoted"
_WAYS = r"breadcrumbs?|pagination|pager|skip-?(?:link|nav|to-content)|print-?only|no-?print"
_CLUTTER = re.compile(f"{_START}(?:{_COMMENTS}|{_SHARING}|{_RELATED}|{_SIGNUP}|{_ADS}|{_WAYS}){_END}", re.I)
_MENU = re.compile(
    f"{_START}(?:[a-z]{{0,12}}(?:nav|navs|navbar|navigation|menu|footer)|sidebar|side-?bar|topbar|toolbar|header|masthead|"
    f"links|blogroll|widget|widgets|tags|tag-?(?:list|cloud)|related|categories|archives?|toc|rail|languages?){_END}",
    re.I,
)
_FOOTER = re.compile(rf"{_START}(?:[a-z]{{0,12}}footer|colophon|copyright|legal){_END}", re.I)
_NOTICE = re.compile(
    r"\u00a9|\(c\)|copyright|all rights reserved|privacy|terms of|imprint|impressum|datenschutz|mentions l\u00e9gales",
    re.I,
)
_NAMED = ", ".join(
    f"{tag}[{name}]"
    for tag in ("div", "section", "aside", "ul", "ol", "form", "footer", "header", "p")
    for name in ("class", "id")
)
_MENU_LINKS_SHARE_MIN = 0.5
_LIST_LINKS_MIN = 5
_LIST_LINKS_SHARE_MIN = 0.9
_LIST_LINK_CHARACTERS_MAX = 30
"""The mean length of a link in a menu. Titles of articles are longer."""
_NOTICE_CHARACTERS_MAX = 400
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_CONTENT_TAGS = frozenset(("main", "article", "td"))
_NOT_TEXT = "script, style, template, noscript, svg"
_PASSES_MAX = 30
"""How often the text of a page is measured, at most: nested elements are measured several times."""


def find_clutter(root: LexborNode, page_bytes: int) -> set[int]:
    """The ids (`mem_id`) of the elements below `root` that are not part of the article of a page of this size."""
    return _ClutterFinder(root, _PASSES_MAX * page_bytes).find()


class _ClutterFinder:
    def __init__(self, root: LexborNode, budget: int) -> None:
        self._root = root
        self._budget = budget
        """Characters that may still be measured."""
        self._found: set[int] = set()

    @cached_property
    def _most(self) -> float:
        """Half of the text of the page."""
        return self._measure(self._root) / 2

    def find(self) -> set[int]:
        """The ids of all elements that are not part of the article."""
        for find in (self._find_named, self._find_lists):
            for node in find():
                if self._measure(node) <= self._most and node.css_first("h1, main, [role=main]") is None:
                    self._found.add(node.mem_id)
        return self._found

    def _select(self, selector: str) -> Iterator[LexborNode]:
        """The elements that match, until too much was measured."""
        for node in self._root.css(selector):
            if self._budget < 0:
                return
            yield node

    def _find_named(self) -> Iterator[LexborNode]:
        """Elements whose names say that they are not the article."""
        for node in self._select(_NAMED):
            attributes = node.attributes
            names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
            if _CLUTTER.search(names):
                if not self._is_below(node, frozenset()):
                    yield node
            elif (_MENU.search(names) or _FOOTER.search(names)) and not self._is_below(node, _CONTENT_TAGS):
                links, length = sum(self._measure(link) for link in node.css("a")), self._measure(node)
                if links >= _MENU_LINKS_SHARE_MIN * max(1, length) or self._is_notice(node, names, length):
                    yield node

    def _is_notice(self, node: LexborNode, names: str, length: int) -> bool:
        """Whether an element is the footer of a page: a short text about rights, terms or privacy."""
        if length > _NOTICE_CHARACTERS_MAX or not _FOOTER.search(names):
            return False
        return bool(_NOTICE.search(node.text() or ""))

    def _find_lists(self) -> Iterator[LexborNode]:
        """Lists of short links that follow no heading, outside of the main content."""
        for node in self._select("ul, ol"):
            links = node.css("a")
            if len(links) < _LIST_LINKS_MIN or _is_after_heading(node) or self._is_below(node, _CONTENT_TAGS):
                continue
            length = sum(self._measure(link) for link in links)
            is_menu = length >= _LIST_LINKS_SHARE_MIN * self._measure(node)
            if is_menu and length <= _LIST_LINK_CHARACTERS_MAX * len(links):
                yield node

    def _is_below(self, node: LexborNode, tags: frozenset[str]) -> bool:
        """Whether an element is within one that was found, or one with such a tag."""
        parent = node.parent
        while parent is not None:
            self._budget -= 1
            if parent.mem_id in self._found or parent.tag in tags:
                return True
            parent = parent.parent
        return False

    def _measure(self, node: LexborNode) -> int:
        """The length of the text of an element, without spaces."""
        text = node.text() or ""
        self._budget -= len(text)
        length = len("".join(text.split()))
        return length - sum(len("".join((each.text() or "").split())) for each in node.css(_NOT_TEXT))


def _is_after_heading(node: LexborNode) -> bool:
    before = node.prev
    while before is not None and before.tag == "-text" and not (before.text_content or "").strip():
        before = before.prev
    return before is not None and before.tag in _HEADINGS
