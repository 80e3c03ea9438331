"""Web pages with an article and everything that surrounds it, and the tools that find the article.

The layouts follow content management systems. Those in `HELD_OUT` were not looked at when the rules were written.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

_WORDS = (
    "lamp keeper lighthouse signal harbour tide crew storm lens beam watch ladder tower island ferry supply chart "
    "weather evening morning method result sample measure estimate model error section between through against before "
    "after without during every second light water stone iron glass wind the a of and to in is that for it was on are"
)
_SHINGLE = 4


class WebPage(NamedTuple):
    """A page and the text of its article."""

    layout: str
    html: str
    article: str


class _Writer:
    """Writes the parts of a page. What is part of the article is kept."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.kept: list[str] = []

    def sentence(self, count: int) -> str:
        words = [self.chance.choice(_WORDS.split()) for _ in range(count)]
        if count > 9:
            words[count // 2] += ","
        return " ".join(words).capitalize() + "."

    def text(self, sentences: int) -> str:
        return " ".join(self.sentence(self.chance.randint(6, 18)) for _ in range(sentences))

    def keep(self, text: str) -> str:
        self.kept.append(text)
        return text

    def title(self) -> str:
        return self.sentence(6).rstrip(".")

    def body(self) -> str:
        """Paragraphs, a heading, a list, a table and code."""
        paragraphs = [f"<p>{self.keep(self.text(self.chance.randint(2, 5)))}</p>" for _ in range(4)]
        heading = f"<h2>{self.keep(self.title())}</h2>"
        items = "".join(f"<li>{self.keep(self.sentence(7))}</li>" for _ in range(4))
        middle = f"<p>{self.keep(self.text(3))}</p>"
        cells = [[self.keep(self.chance.choice(_WORDS.split())) for _ in range(3)] for _ in range(4)]
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        code = self.keep("def light(lamp):\n    return lamp.on()")
        last = f"<p>{self.keep(self.text(4))}</p>"
        middle += f"<table>{rows}</table><pre><code>{code}</code></pre>"
        return f"{''.join(paragraphs)}{heading}<ul>{items}</ul>{middle}{last}"

    def links(self, count: int, words: int = 1) -> str:
        names = (self.sentence(words).rstrip(".") for _ in range(count))
        return "".join(f'<li><a href="/{at}">{name}</a></li>' for at, name in enumerate(names))

    def comments(self, template: str) -> str:
        return "".join(template.format(name=self.chance.choice(_WORDS.split()), text=self.text(2)) for _ in range(4))


def _wordpress(w: _Writer) -> str:
    title = w.keep(w.title())
    return f"""<body class="single-post"><a class="skip-link" href="#content">Skip to content</a>
<header class="site-header"><p class="site-title"><a href="/">{w.title()}</a></p>
<nav class="main-navigation"><ul>{w.links(6)}</ul></nav></header>
<main id="main"><article class="post"><h1 class="entry-title">{title}</h1><div class="entry-content">{w.body()}
<div class="sharedaddy"><h3>Share this:</h3><ul>{w.links(4)}</ul></div></div></article>
<div class="related-posts"><h3>You may also like</h3><ul>{w.links(4, 6)}</ul></div>
<div id="comments" class="comments-area"><h2>4 thoughts</h2><ol class="comment-list">
{w.comments('<li><article class="comment-body"><b>{name}</b><p>{text}</p></article></li>')}</ol></div></main>
<aside class="widget-area"><h2>Recent posts</h2><ul>{w.links(5, 6)}</ul></aside>
<footer class="site-footer">Proudly powered by {w.title()}</footer></body>"""


def _news(w: _Writer) -> str:
    title = w.keep(w.title())
    return f"""<body><div id="cookie-consent">We value your privacy. {w.text(2)} <button>Accept</button></div>
<div class="topbar"><ul>{w.links(8)}</ul></div><div class="ad-slot">Advertisement {w.title()}</div>
<div class="story"><h1>{title}</h1><div class="story-body">{w.body()}</div>
<div class="newsletter-signup"><p>Get our newsletter. {w.text(1)}</p><form><input name="mail"></form></div>
<div class="social-share"><a href="#">Tweet</a> <a href="#">Post</a></div></div>
<div class="more-stories">
<h3>More stories</h3>{"".join(f'<p><a href="/{n}">{w.sentence(8)}</a></p>' for n in range(5))}</div>
<div class="footer"><ul>{w.links(9)}</ul><p>Copyright {w.title()}</p></div></body>"""


def _divisions(w: _Writer) -> str:
    title = w.keep(w.title())
    return f"""<body><div><ul>{w.links(7)}</ul></div><div><div><h1>{title}</h1>{w.body()}</div>
<div class="sidebar"><h4>Links</h4><ul>{w.links(6, 2)}</ul></div></div></body>"""


def _mediawiki(w: _Writer) -> str:
    title = w.keep(w.title())
    return f"""<body class="mediawiki"><div id="mw-navigation"><div id="p-personal" class="vector-menu">
<ul>{w.links(5, 2)}</ul></div>
<div id="p-navigation" class="portlet"><h3>Navigation</h3><ul>{w.links(7, 2)}</ul></div></div>
<div id="content" class="mw-body" role="main"><h1 id="firstHeading">{title}</h1>
<div id="mw-content-text">{w.body()}</div>
<div id="catlinks" class="catlinks">Categories: <ul>{w.links(4, 2)}</ul></div></div>
<div id="footer" role="contentinfo"><ul id="footer-info"><li>This page was last edited on a day.</li></ul>
<ul>{w.links(5, 2)}</ul></div></body>"""


def _sphinx(w: _Writer) -> str:
    title = w.keep(w.title())
    related = f'<div class="related" role="navigation"><ul>{w.links(4)}</ul></div>'
    return f"""<body>{related}<div class="document"><div class="documentwrapper"><div class="body" role="main">
<section id="s"><h1>{title}</h1>{w.body()}</section></div></div>
<div class="sphinxsidebar" role="navigation"><h3>Table of contents</h3><ul>{w.links(6, 3)}</ul></div></div>
{related}<div class="footer" role="contentinfo">Copyright. Created using Sphinx.</div></body>"""


def _drupal(w: _Writer) -> str:
    title = w.keep(w.title())
    return f"""<body><div id="page"><div id="header" class="region-header"><div class="block-menu">
<ul class="menu">{w.links(6)}</ul></div></div>
<div class="breadcrumb"><a href="/">Home</a> » <a href="/b">{w.title()}</a></div>
<div id="content"><h1 class="title">{title}</h1><div class="node"><div class="content">{w.body()}</div>
<ul class="links inline"><li><a href="/r">Read more</a></li><li><a href="/l">Log in to post comments</a></li></ul>
</div>
<section class="comments comment-wrapper">
<h2>Comments</h2>{w.comments('<div class="comment"><h3>{name}</h3><p>{text}</p></div>')}</section></div>
<div class="region-sidebar-second"><div class="block"><h2>Popular</h2><ul>{w.links(6, 5)}</ul></div></div></div>
</body>"""


def _blogger(w: _Writer) -> str:
    title = w.keep(w.title())
    return f"""<body><div class="header-outer"><h2 class="title">{w.title()}</h2></div><div class="tabs-outer">
<ul>{w.links(5)}</ul></div>
<div class="main-outer"><div class="post-outer"><h3 class="post-title">{title}</h3>
<div class="post-body">{w.body()}</div>
<div class="post-footer"><div class="post-share-buttons"><a href="#">Email this</a><a href="#">BlogThis!</a></div>
</div>
<div class="comments" id="comments">
<h4>4 comments:</h4>{w.comments('<div class="comment-block"><cite>{name}</cite><p>{text}</p></div>')}</div></div></div>
<div class="column-right-outer"><div class="widget BlogArchive"><h2>Blog Archive</h2><ul>{w.links(8, 2)}</ul></div>
</div></body>"""


KNOWN: tuple[Callable[[_Writer], str], ...] = (_wordpress, _news, _divisions)
HELD_OUT: tuple[Callable[[_Writer], str], ...] = (_mediawiki, _sphinx, _drupal, _blogger)


def make_pages(each: int) -> list[WebPage]:
    """This many pages of every layout."""
    pages = []
    for layout in (*KNOWN, *HELD_OUT):
        for seed in range(each):
            writer = _Writer(seed)
            body = layout(writer)
            html = f"<!DOCTYPE html><html><head><title>Page</title></head>{body}</html>"
            pages.append(WebPage(layout.__name__[1:], html, "\n".join(writer.kept)))
    return pages


def read_inorder(html: bytes, extent: str = "article") -> str:
    """The text of the blocks that inorder reads."""
    from inorder.documents.readers.html.reader import read

    parts: list[str] = []
    for block in read(html, "page", "full" if extent == "full" else "article").blocks:
        parts += [getattr(block, "caption", ""), getattr(block, "text", "")]
        parts += [cell.text for cell in getattr(block, "cells", ())]
    return "\n".join(filter(None, parts))


def read_trafilatura(html: bytes) -> str:
    """What trafilatura extracts, with tables and without comments."""
    import trafilatura

    return trafilatura.extract(html, include_comments=False, include_tables=True) or ""


def read_readability(html: bytes) -> str:
    """The text of what readability keeps, and its title."""
    from lxml.html import document_fromstring
    from readability import Document

    document = Document(html.decode("utf-8", "replace"))
    return " ".join(document_fromstring(document.summary()).xpath("//text()"))


PAGE_TOOLS: dict[str, Callable[[bytes], str]] = {
    "inorder": read_inorder,
    "inorder --html full": lambda html: read_inorder(html, "full"),
    "trafilatura": read_trafilatura,
    "readability": read_readability,
}


def compare_text(found: str, given: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of runs of four words."""
    one, other = _shingles(found), _shingles(given)
    right = sum((one & other).values())
    precision, recall = right / max(1, one.total()), right / max(1, other.total())
    return precision, recall, 2 * right / max(1, one.total() + other.total())


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return Counter(zip(*(words[at:] for at in range(_SHINGLE)), strict=False))
