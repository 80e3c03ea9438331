"""HTML and Markdown from documents, made safe to show.

Only structure is kept: no scripts, styles, forms, frames, images, classes or ids, and links to other sites only with
http, https or mailto. What is not allowed is removed, or shown as its text.
"""

import nh3
import pyromark

_TEXT_TAGS = "a abbr b br cite code del dfn em i ins kbd mark q s samp small span strong sub sup tt u var"
_BLOCK_TAGS = "blockquote dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr li ol p pre section summary ul"
_TABLE_TAGS = "caption col colgroup table tbody td tfoot th thead tr"
TAGS = {tag for tags in (_TEXT_TAGS, _BLOCK_TAGS, _TABLE_TAGS) for tag in tags.split()}
ATTRIBUTES = {
    "a": {"href", "title"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "ol": {"start"},
    "*": {"dir", "lang"},
}
_REMOVED_WITH_CONTENT = {"script", "style", "template", "noscript", "title", "iframe", "object", "embed", "svg", "math"}
_CLEANER = nh3.Cleaner(
    tags=TAGS,
    clean_content_tags=_REMOVED_WITH_CONTENT,
    attributes=ATTRIBUTES,
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    strip_comments=True,
)


def sanitise(html: str) -> str:
    """HTML that can be put into a page."""
    return _CLEANER.clean(html)


def render_markdown(text: str) -> str:
    """Markdown as HTML that can be put into a page."""
    return sanitise(pyromark.html(text, options=pyromark.Options.ENABLE_TABLES))
