"""The elements of JATS and DocBook, by what they are."""

ROOTS = frozenset(("article", "book", "chapter", "part", "section", "refentry", "preface", "appendix", "set", "topic"))
SECTIONS = frozenset(
    (
        "sec",
        "section",
        "sect1",
        "sect2",
        "sect3",
        "sect4",
        "sect5",
        "simplesect",
        "chapter",
        "appendix",
        "part",
        "preface",
        "app",
        "app-group",
        "abstract",
        "ack",
        "ref-list",
        "bibliography",
        "glossary",
        "refsect1",
        "refsect2",
    )
)
PARAGRAPHS = frozenset(
    (
        "p",
        "para",
        "simpara",
        "term",
        "def",
        "attrib",
        "note",
        "warning",
        "tip",
        "caution",
        "important",
        "disp-quote",
        "blockquote",
        "fn",
        "speech",
        "formalpara",
        "subtitle",
        "kwd-group",
        "contrib-group",
        "refpurpose",
        "synopsis",
    )
)
LISTS = {"list": False, "itemizedlist": False, "orderedlist": True, "simplelist": False, "procedure": True}
ITEMS = frozenset(("list-item", "listitem", "member", "step", "ref", "bibliomixed", "biblioentry"))
CODE = frozenset(("code", "programlisting", "screen", "preformat", "literallayout", "programlistingco"))
FIGURES = frozenset(("fig", "figure", "informalfigure"))
CAPTIONED = frozenset(("table-wrap", "table", "informaltable", *FIGURES))
SKIPPED = frozenset(
    (
        "journal-meta",
        "permissions",
        "aff",
        "author-notes",
        "contrib-id",
        "indexterm",
        "copyright",
        "legalnotice",
        "revhistory",
        "author",
        "authorgroup",
        "remark",
        "annotation",
        "supplementary-material",
    )
)
METADATA = frozenset(("title-group", "abstract", "contrib-group", "kwd-group"))
"""What is read of the metadata of an article."""
