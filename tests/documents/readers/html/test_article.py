"""HTML: what belongs to the article of a page, and what is left out."""

import time

import pytest

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
    assert read(page.format(f"{ARTICLE}<p>{long}</p>")) == [*KEPT, long.strip()]
    assert [kind for kind, _ in block_texts(html.read(page.format(ARTICLE).encode(), "page"))] == ["table"]


PROSE = "The keeper climbs the stairs, trims the wick, and writes the hour into the log before the storm. "
TABLE = "<table><tr><th>oil</th><th>wick</th></tr><tr><td>nine</td><td>two</td></tr></table>"
BODY = f"""<p>{PROSE * 3}</p><h2>Oil</h2><p>{PROSE * 2}</p>{TABLE}<pre><code>light()</code></pre>
<ul><li>Oil of the whale</li><li>Oil of the seal</li></ul>
<figure><img alt="A lamp"><figcaption>The lamp at dusk</figcaption></figure>
<p>{PROSE * 3} <a href="/oil">On oil</a></p>"""
READ = [
    "Lamps",
    (PROSE * 3).strip(),
    "Oil",
    (PROSE * 2).strip(),
    "oil | wick / nine | two",
    "light()",
    "Oil of the whale",
    "Oil of the seal",
    "The lamp at dusk",
    f"{PROSE * 3}On oil",
]
TITLES = "".join(f"<li><a href='/{at}'>The lighthouse number {at} is closed for the winter</a></li>" for at in range(5))
COMMENT = "<div class='c-{0}'><b>Reader {0}</b><p>I have seen this lamp, and it was not as bright as this.</p></div>"

SURROUNDINGS = {
    "reader comments": f"<section id='reader-comments'>{''.join(map(COMMENT.format, range(4)))}</section>",
    "a trending list": f"<div class='box'><h3>Trending</h3><ul>{TITLES}</ul></div>",
    "a list of titles": f"<div><ul>{TITLES}</ul></div>",
    "related articles by heading": f"<h4>Das k\u00f6nnte Sie auch interessieren</h4><div><ul>{TITLES}</ul></div>",
    "a teaser": "<div class='promo'><a href='/x'><h3>A lamp for every room</h3></a><p>From nine coins.</p></div>",
    "a newsletter": "<div class='newsletter-box'><p>Our letter, every week.</p><input><button>Send</button></div>",
    "a reference": "<p>Read more: <a href='/w'>The widest beam of the whole coast</a></p>",
    "a complementary box": f"<div role='complementary'><p>{PROSE}</p></div>",
    "an aside of links": f"<aside><ul>{TITLES}</ul></aside>",
    "navigation without tags": "<div class='links'><a href='/a'>News</a> <a href='/b'>Sea</a></div>",
}


@pytest.mark.parametrize("where", ["within", "after"])
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_surrounds_an_article_is_left_out_and_the_article_is_whole(name: str, where: str) -> None:
    other = SURROUNDINGS[name]
    inner, after = (other, "") if where == "within" else ("", other)
    page = f"<body><div><h1>Lamps</h1><div class='post'>{BODY}{inner}</div>{after}</div></body>"
    assert read(page) == READ
    assert len(read(page, "full")) > len(READ)


def test_prose_between_the_main_heading_and_the_article_is_part_of_it() -> None:
    lead = "Why the lamp of the island burns brighter than all the others of this coast."
    page = f"<body><div><h1>Lamps</h1><p>{lead}</p></div><div>A. Keeper</div><div class='post'>{BODY}</div></body>"
    assert read(page) == [READ[0], lead, *READ[1:]]


def test_a_heading_for_links_that_prose_follows_is_kept() -> None:
    page = f"<body><div class='post'><h1>Lamps</h1>{BODY}<h2>Related work</h2><p>{PROSE}</p></div></body>"
    assert read(page)[-1] == PROSE.strip()


def test_a_note_within_an_article_is_kept() -> None:
    note = "<aside><p>Never look into the lamp while it burns, because its light is strong enough to blind.</p></aside>"
    assert "Never look into the lamp" in " ".join(read(f"<body><div><h1>Lamps</h1>{BODY}{note}{BODY}</div></body>"))


def test_an_article_that_is_a_small_part_of_its_page_has_a_warning() -> None:
    for count, has_warning in ((0, False), (1000, True)):
        others = "".join(f"<div><a href='/{at}'>A title of another page of this site</a></div>" for at in range(count))
        document = html.read(f"<body><div><h1>Lamps</h1>{BODY}</div><div>{others}</div></body>".encode(), "page")
        assert [text for _, text in block_texts(document)] == READ
        assert any("html=full" in warning for warning in document.warnings) == has_warning


def test_a_page_without_prose_is_kept_but_for_its_menus() -> None:
    entries = "".join(f"<div><a href='/{at}'>Entry {at} of the index of all lamps</a></div>" for at in range(40))
    assert len(read(f"<body><h1>Index</h1>{entries}</body>")) == 41


def test_a_description_that_repeats_the_text_is_not_a_caption() -> None:
    page = f"<body><div><h1>Lamps</h1>{BODY}<img alt='Oil'><p>{PROSE}</p></div></body>"
    assert read(page).count("Oil") == 1


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
@pytest.mark.parametrize(
    "piece",
    [
        "<div class='menu'><p>some text</p>",
        f"<div class='comments'><h1>a</h1><p>{PROSE}</p>",
        f"<div class='post'>{PROSE}</div>",
        "<p class='related'>Read more: <a href='/'>x</a>",
        "<ul><li><a href='/'>A long title of an article about lamps</a>",
    ],
)
def test_a_page_of_many_such_elements_takes_no_quadratic_time(piece: str) -> None:
    def measure(count: int) -> float:
        began = time.process_time()
        html.read(f"<body><h1>Lamps</h1>{piece * count}</body>".encode(), "page")
        return time.process_time() - began

    assert measure(16_000) < 40 * max(measure(2_000), 0.02)
