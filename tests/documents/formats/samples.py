"""One small document of each further format, with everything that its reader knows."""

import json

from tests.documents.formats.office_files import cell, line, make_pptx, make_xlsx, shape

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

SAMPLES: dict[str, bytes] = {"pptx": PPTX, "xlsx": XLSX, "csv": CSV, "notebook": NOTEBOOK}
NAMES = {"pptx": "talk.pptx", "xlsx": "stores.xlsx", "csv": "list.csv", "notebook": "tides.ipynb"}
"""A file name of each kind."""
