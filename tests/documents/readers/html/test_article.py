"""HTML: what belongs to the article of a page, and what is left out."""

import pytest
from selectolax.lexbor import LexborNode

from inorder.documents.readers.html import clutter
from inorder.documents.readers.html import reader as html
from inorder.documents.readers.html.extent import Extent
from tests.documents.document_text import block_texts

pytestmark = pytest.mark.req("DOC-1")

ARTICLE = "<h1>Lamps</h1><p>The keeper lights the lamp every evening, and trims its wick at dawn.</p>"
LINKS = "".join(f"<li><a href='/{number}'>Page {number}</a></li>" for number in range(6))


def read(page: str, extent: Extent = "article") -> list[str]:
    return [text for _, text in block_texts(html.read(page.encode(), "page", extent))]


KEPT = ["Lamps", "The keeper lights the lamp every evening, and trims its wick at dawn."]

CLUTTER = {
    "comments": "<div id='comments'><h2>2 comments</h2><p>First!</p></div>",
    "comments of WordPress": "<ol class='comment-list'><li><article><p>First!</p></article></li></ol>",
    "a bar to share": "<div class='post-share-buttons'><a href='#'>Post</a></div>",
    "related posts": "<section class='related-posts'><h3>See also</h3><p>Another lamp</p></section>",
    "an advertisement": "<div class='ad-slot'>Buy oil</div>",
    "a newsletter": "<div class='newsletter-signup'><p>Get our letters.</p></div>",
    "breadcrumbs": "<div class='breadcrumbs'><a href='/'>Home</a> / Lamps</div>",
    "a named menu": f"<div class='sidebar-left'><h4>Pages</h4><ul>{LINKS}</ul></div>",
    "a menu with a compound name": "<div id='topnav'><a href='/'>Home</a> | <a href='/n'>News</a></div>",
    "a notice in a footer": "<div class='site-footer'><p>\u00a9 1998 The Cooperative. All rights reserved.</p></div>",
    "an unnamed menu": f"<div><ul>{LINKS}</ul></div>",
    "a cookie notice": "<div class='cookie-consent'>We value your privacy.</div>",
    "navigation": "<nav><a href='/'>Home</a></nav>",
}


@pytest.mark.parametrize("name", CLUTTER)
def test_clutter_is_left_out_of_an_article_and_kept_in_the_full_page(name: str) -> None:
    page = f"<body>{CLUTTER[name]}<div>{ARTICLE}</div></body>"
    assert read(page) == KEPT
    full = read(page, "full")
    assert full[-2:] == KEPT
    assert len(full) > 2


CONTENT = {
    "a table and code": "<table><tr><td>oil</td><td>9</td></tr></table><pre>light()</pre>",
    "a list of links under a heading": f"<h2>See also</h2><ul>{LINKS}</ul>",
    "a list of links in the main content": f"<main><ul>{LINKS}</ul></main>",
    "a list of titles": "<ul>" + "<li><a href='/'>A long title of an article about lamps</a></li>" * 6 + "</ul>",
    "a menu that is prose": "<div class='menu'><p>Soup of the day, with bread and butter.</p></div>",
    "a footer that is prose": "<div class='footer'><p>The keeper closes the log at the end of the year.</p></div>",
    "a name that only contains a word": "<div class='commentary shareholders'><p>Two shares.</p></div>",
    "a span with a name": "<p>Two <span class='comment'>words</span></p>",
    "a section of related documents": "<main><section id='related'><a href='/'>G148</a></section></main>",
}


@pytest.mark.parametrize("name", CONTENT)
def test_content_is_kept(name: str) -> None:
    page = f"<body>{ARTICLE}{CONTENT[name]}</body>"
    assert read(page) == read(page, "full")
    assert len(read(page)) > 2


@pytest.mark.parametrize("name", ["comments", "sidebar", "share"])
def test_an_element_with_the_main_heading_or_most_of_the_text_is_kept(name: str) -> None:
    assert read(f"<body><div class='{name}'>{ARTICLE}</div><p>{'More words. ' * 30}</p></body>")[:2] == KEPT
    most = "<p><a href='/'>" + "A forum of lamps. " * 9 + "</a></p>"
    assert read(f"<body><p>Intro.</p><div class='{name}'>{most}</div></body>") == read(f"<p>Intro.</p>{most}")


def test_a_page_in_the_cells_of_a_table_is_read_as_a_page() -> None:
    long = "The lamp burns. " * 40
    page = "<body><table><tr><td><p>Aside.</p></td><td>{}</td></tr></table></body>"
    assert read(page.format(f"{ARTICLE}<p>{long}</p>")) == ["Aside.", *KEPT, long.strip()]
    assert [kind for kind, _ in block_texts(html.read(page.format(ARTICLE).encode(), "page"))] == ["table"]


@pytest.mark.slow
@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("name", ["_", "nav", "a", "-", "nav_"])
def test_a_name_of_a_megabyte_is_searched_once(name: str) -> None:
    """A search that tries every end for every start would not return within the time limit of the tests."""
    assert read(f"<body><div class='{name * 1_000_000}'>x</div>{ARTICLE}</body>")[-2:] == KEPT


def test_a_script_is_not_text_of_the_page() -> None:
    most = f"<div class='comments'><p>{'A forum of lamps. ' * 9}</p></div>"
    assert len(read(f"<body><p>Intro.</p><script>{'light(); ' * 99}</script>{most}</body>")) == 2


@pytest.mark.req("ROB-1")
def test_nested_elements_with_such_names_take_no_quadratic_time(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    measure = clutter._ClutterFinder._measure

    def count(self: clutter._ClutterFinder, node: LexborNode) -> int:
        measured.append(node)
        return measure(self, node)

    monkeypatch.setattr(clutter._ClutterFinder, "_measure", count)
    page = "<div class='menu'><p>some text</p>" * 1500
    assert len(read(f"<body>{page}</body>")) == 1500
    assert len(measured) < 200
