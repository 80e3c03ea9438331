"""Builds small office files for the tests, from their XML."""

from tests.documents.docx_files import OFFICE, PACKAGE, archive, relation

P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
X = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def relations(*each: str) -> str:
    return f'<Relationships xmlns="{PACKAGE}">{"".join(each)}</Relationships>'


def shape(*paragraphs: str, placeholder: str = "") -> str:
    """A shape of a slide; its paragraphs are DrawingML."""
    mark = f'<p:nvPr><p:ph type="{placeholder}"/></p:nvPr>' if placeholder else ""
    return f"<p:sp>{mark}<p:txBody>{''.join(paragraphs)}</p:txBody></p:sp>"


def line(text: str, properties: str = "") -> str:
    return f"<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"


def cell(text: str, attributes: str = "") -> str:
    return f"<a:tc {attributes}><a:txBody>{line(text)}</a:txBody></a:tc>"


def make_pptx(*slides: str, notes: str = "", links: str = "", parts: dict[str, str] | None = None) -> bytes:
    """A presentation with these slides; the notes and the relations of links belong to the first of them."""
    files = {
        "_rels/.rels": relations(relation("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}"><p:sldIdLst>'
        + "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
        + '</p:sldIdLst><p:sldSz cx="12192000" cy="6858000"/></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations(
            *(relation(f"s{n}", "slide", f"slides/slide{n}.xml") for n in range(len(slides)))
        ),
        "ppt/slides/_rels/slide0.xml.rels": relations(relation("n", "notesSlide", "../notesSlides/notes.xml"), links),
    }
    for number, content in enumerate(slides):
        files[f"ppt/slides/slide{number}.xml"] = (
            f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{OFFICE}">{content}</p:sld>'
        )
    files |= parts or {}
    if notes:
        files["ppt/notesSlides/notes.xml"] = f'<p:notes xmlns:p="{P}" xmlns:a="{A}">{notes}</p:notes>'
    return archive({name: content.encode() for name, content in files.items()})


def make_xlsx(
    *sheets: tuple[str, str],
    strings: tuple[str, ...] = (),
    styles: str = "",
    links: str = "",
    parts: dict[str, str] | None = None,
) -> bytes:
    """A workbook: the name of each sheet, and its rows in SpreadsheetML. The relations of links belong to the first."""
    files = {
        "_rels/.rels": relations(relation("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{X}" xmlns:r="{OFFICE}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{n + 1}" r:id="s{n}"/>' for n, (name, _) in enumerate(sheets))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            *(relation(f"s{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in range(len(sheets))),
            relation("t", "sharedStrings", "sharedStrings.xml"),
            relation("f", "styles", "styles.xml"),
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{X}">{"".join(f"<si><t>{text}</t></si>" for text in strings)}</sst>',
        "xl/worksheets/_rels/sheet0.xml.rels": relations(links),
        "xl/styles.xml": f'<styleSheet xmlns="{X}">{styles}</styleSheet>',
        **(parts or {}),
    }
    for number, (_, rows) in enumerate(sheets):
        files[f"xl/worksheets/sheet{number}.xml"] = f'<worksheet xmlns="{X}" xmlns:r="{OFFICE}">{rows}</worksheet>'
    return archive({name: content.encode() for name, content in files.items()})


ODF = {
    each: f"urn:oasis:names:tc:opendocument:xmlns:{each if each != 'draw' else 'drawing'}:1.0"
    for each in ("office", "text", "table", "draw", "style", "presentation")
}
ODF |= {"svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0", "xlink": "http://www.w3.org/1999/xlink"}


def make_odf(kind: str, body: str, styles: str = "") -> bytes:
    """An OpenDocument file; the body and the automatic styles are XML with the usual prefixes."""
    names = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in ODF.items())
    content = (
        f"<office:document-content {names}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
            "content.xml": content.encode(),
            "META-INF/manifest.xml": b"<manifest/>",
        }
    )


def make_epub(*chapters: str, title: str = "Light") -> bytes:
    """A book; the chapters are XHTML."""
    items = "".join(f'<item id="c{n}" href="text/c%20{n}.xhtml"/>' for n in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata><manifest>{items}'
        '<item id="nav" href="nav.xhtml" properties="nav"/></manifest>'
        f'<spine><itemref idref="nav"/>{spine}</spine></package>',
        "OEBPS/nav.xhtml": "<html><body><p>Contents</p></body></html>",
        **{f"OEBPS/text/c {n}.xhtml": chapter for n, chapter in enumerate(chapters)},
    }
    return archive({name: content.encode() for name, content in files.items()})
