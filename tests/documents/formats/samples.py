"""One small document of each further format, with everything that its reader knows."""

import json

from tests.documents.formats import text_samples
from tests.documents.formats.office_files import cell, line, make_epub, make_odf, make_pptx, make_xlsx, shape

PPTX = make_pptx(
    shape(line("Keeping the light"), placeholder="ctrTitle") + shape(line("A guide"), placeholder="subTitle"),
    shape(line("Two"), line("duties"), placeholder="title")
    + shape(line("Trim the wick"), line("twice a day", '<a:pPr lvl="1"/>'), line("Log the hour"), placeholder="body")
    + shape(
        line("First", "<a:pPr><a:buAutoNum/></a:pPr>"),
        line("Second", "<a:pPr><a:buAutoNum/></a:pPr>"),
        line("Plain", "<a:pPr><a:buNone/></a:pPr>"),
    )
    + shape(line("Page 2"), placeholder="sldNum")
    + shape(line("Harbour board"), placeholder="ftr")
    + '<p:pic><p:nvPicPr><p:cNvPr id="4" name="p" descr="The  lens"/></p:nvPicPr></p:pic>'
    + '<a:tbl><a:tblPr firstRow="1"/>'
    + "<a:tr>"
    + cell("Watch")
    + cell("Hours", "gridSpan='2'")
    + cell("", "hMerge='1'")
    + "</a:tr>"
    + "<a:tr>"
    + cell("Night", "rowSpan='2'")
    + cell("20")
    + cell("24")
    + "</a:tr>"
    + "<a:tr>"
    + cell("", "vMerge='1'")
    + cell("0")
    + cell("4")
    + "</a:tr></a:tbl>",
    notes=shape(line("Slow down here."), placeholder="body") + shape(line("1"), placeholder="sldNum"),
)

XLSX = make_xlsx(
    (
        "Stores",
        "<sheetData>"
        '<row r="1"><c r="A1" t="inlineStr"><is><t>Stores of the tower</t></is></c></row>'
        '<row r="3"><c r="B3" t="s"><v>0</v></c><c r="C3" t="s"><v>1</v></c><c r="D3" t="str"><v>Share</v></c></row>'
        '<row r="4"><c r="B4" t="s"><v>2</v></c><c r="C4" s="1"><v>45292</v></c><c r="D4" s="2"><v>0.125</v></c></row>'
        '<row r="5"><c r="B5" t="b"><v>1</v></c><c r="C5" s="1"><v>45292.75</v></c>'
        '<c r="D5"><v>0.30000000000000004</v></c></row>'
        '<row r="6"><c r="B6" t="inlineStr"><is><t>All</t></is></c></row>'
        '</sheetData><mergeCells><mergeCell ref="B6:D6"/></mergeCells>',
    ),
    ("Empty", "<sheetData/>"),
    strings=("Item", "Since", "Oil"),
    styles='<numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy"/></numFmts>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="10"/></cellXfs>',
)

CSV = b'name;since;"what; for"\r\nlamp;1887;"to be\nseen"\r\n\r\nhorn;1911;to be heard\r\n'

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Tides\n", "\n", "The *tide* of [today](http://tide.example)."]},
            {
                "cell_type": "code",
                "source": "frame.head()",
                "outputs": [
                    {"output_type": "stream", "text": ["two rows\n"]},
                    {"data": {"text/html": "<table><tr><th>h<tr><td>1.5</table>", "text/plain": "h\n1.5"}},
                    {"output_type": "error", "ename": "ValueError", "evalue": "no water", "traceback": ["..."]},
                    {"data": {"image/png": "iVBORw0KGgo="}},
                ],
            },
            {"cell_type": "raw", "source": "raw text"},
            {"cell_type": "code", "source": "", "outputs": []},
        ],
    }
).encode()

EPUB = make_epub(
    "<html><head><title>x</title></head><body><h1>Lamp</h1><p>Trim the <i>wick</i>.</p></body></html>",
    "<html><body><h1>Tides</h1><ul><li>high</li><li>low</li></ul></body></html>",
)

ODT = make_odf(
    "text",
    "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
    '<text:p text:style-name="Title">Light</text:p>'
    '<text:h text:outline-level="1">Lamp</text:h>'
    '<text:p>Trim<text:s text:c="3"/>the<text:line-break/>wick<text:note><text:note-citation>1</text:note-citation>'
    "<text:note-body><text:p>A note.</text:p></text:note-body></text:note>, see "
    '<text:a xlink:href="http://light.example">the page</text:a>.</text:p>'
    '<text:list text:style-name="L1"><text:list-item><text:p>one</text:p>'
    "<text:list><text:list-item><text:p>inner</text:p>"
    "</text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>"
    '<text:p text:style-name="P1">light()</text:p><text:p text:style-name="P1"><text:s text:c="2"/>wait()</text:p>'
    "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Watch</text:p></table:table-cell>"
    "<table:table-cell><text:p>h</text:p></table:table-cell></table:table-row></table:table-header-rows>"
    '<table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>all</text:p></table:table-cell>'
    "<table:covered-table-cell/></table:table-row></table:table>"
    "<text:p><draw:frame><draw:image/><svg:desc>The lamp</svg:desc></draw:frame></text:p>",
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/>'
    "</text:list-style>"
    '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>',
)

SAMPLES: dict[str, bytes] = {
    "pptx": PPTX,
    "xlsx": XLSX,
    "csv": CSV,
    "notebook": NOTEBOOK,
    "epub": EPUB,
    "opendocument": ODT,
    "mail": text_samples.MAIL,
    "mailbox": text_samples.MAILBOX,
    "rtf": text_samples.RTF,
    "rst": text_samples.RST,
    "asciidoc": text_samples.ASCIIDOC,
    "xml": text_samples.JATS,
    "subtitles": text_samples.SUBTITLES,
}
NAMES = {
    "pptx": "talk.pptx",
    "xlsx": "stores.xlsx",
    "csv": "list.csv",
    "notebook": "tides.ipynb",
    "epub": "light.epub",
    "opendocument": "light.odt",
    "mail": "lamp.eml",
    "mailbox": "old.mbox",
    "rtf": "light.rtf",
    "rst": "light.rst",
    "asciidoc": "light.adoc",
    "xml": "article.xml",
    "subtitles": "light.vtt",
}
"""A file name of each kind."""

ODS = make_odf(
    "spreadsheet",
    '<table:table table:name="Stores"><table:table-row><table:table-cell><text:p>Item</text:p></table:table-cell>'
    "<table:table-cell><text:p>Litres</text:p></table:table-cell>"
    '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
    "<table:table-row><table:table-cell><text:p>Oil</text:p></table:table-cell>"
    '<table:table-cell office:value-type="float"><text:p>12</text:p></table:table-cell></table:table-row>'
    '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row></table:table>',
)
ODP = make_odf(
    "presentation",
    '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Light</text:p></draw:text-box>'
    "</draw:frame>"
    "<draw:frame><draw:text-box><text:list><text:list-item><text:p>wick</text:p></text:list-item></text:list>"
    "</draw:text-box></draw:frame></draw:page>",
)
VARIANTS: dict[str, tuple[str, bytes]] = {
    **{kind: (kind, data) for kind, data in SAMPLES.items()},
    "docbook": ("xml", text_samples.DOCBOOK),
    "ods": ("opendocument", ODS),
    "odp": ("opendocument", ODP),
}
"""The kind and the content of every sample with a golden file."""
