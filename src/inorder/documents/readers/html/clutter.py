"""Finds what is not content on a page without an article that stands out: comments, bars to share, menus.

What tags and roles say is excluded by `rules`. This module goes by the names that authors give to elements in `class`
and `id`. Some names are enough; others count outside of the main content, for elements whose text is mostly links, and
for a short notice about rights in a footer. An unnamed list of short links is a menu too, unless it follows a heading.
An element with the main heading or with most of the text of the page is never left out.
"""

import re
from collections.abc import Iterator

from .measure import Box

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
_NAMED = frozenset(("div", "section", "aside", "ul", "ol", "form", "footer", "header", "p"))
_MENU_LINKS_SHARE_MIN = 0.5
_LIST_LINKS_MIN = 5
_LIST_LINKS_SHARE_MIN = 0.9
_LIST_LINK_CHARACTERS_MAX = 30
"""The mean length of a link in a menu. Titles of articles are longer."""
_NOTICE_CHARACTERS_MAX = 400
_CONTENT_TAGS = frozenset(("main", "article", "td"))
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))


def find_clutter(page: Box) -> Iterator[Box]:
    """The boxes of a page that are not content, outermost only."""
    most = page.characters / 2
    stack: list[tuple[Box, bool]] = [(page, False)]
    while stack:
        outer, in_content = stack.pop()
        in_content = in_content or outer.tag in _CONTENT_TAGS
        before = ""
        for box in outer.boxes:
            may_go = box.characters <= most and not box.has_main_heading and not _has_main_content(box)
            if may_go and (_is_named(box, in_content) or _is_menu(box, in_content, before)):
                yield box
            else:
                stack.append((box, in_content))
            before = box.tag


def _has_main_content(box: Box) -> bool:
    return box.tag == "main" or any(inner.tag == "main" for inner in box.boxes)


def _is_named(box: Box, in_content: bool) -> bool:
    """Whether the names of an element say that it is not content."""
    if box.tag not in _NAMED or not box.names:
        return False
    if _CLUTTER.search(box.names):
        return True
    if in_content or not (_MENU.search(box.names) or _FOOTER.search(box.names)):
        return False
    return box.link_share >= _MENU_LINKS_SHARE_MIN or not box.characters or _is_notice(box)


def _is_notice(box: Box) -> bool:
    """Whether an element is the footer of a page: a short text about rights, terms or privacy."""
    is_short = box.characters <= _NOTICE_CHARACTERS_MAX and _FOOTER.search(box.names) is not None
    return is_short and _NOTICE.search(box.text) is not None


def _is_menu(box: Box, in_content: bool, before: str) -> bool:
    """Whether an element is a list of short links that follows no heading, outside of the main content."""
    if box.tag not in ("ul", "ol") or in_content or before in _HEADINGS or box.links < _LIST_LINKS_MIN:
        return False
    return box.link_share >= _LIST_LINKS_SHARE_MIN and box.linked <= _LIST_LINK_CHARACTERS_MAX * box.links
