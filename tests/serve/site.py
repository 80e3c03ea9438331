"""DATA to serve: documents of several formats, hostile ones among them, and source code."""

from pathlib import Path

from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns

NOTE = "# Lamps\n\nThe keeper lights the *lamp* at dusk.\n\n| day | oil |\n|---|---|\n| 1 | 2 l |\n"
HOSTILE_MARKDOWN = (
    "# Storm <img src=x onerror=alert(1)>\n\n<script>alert('gale')</script>\n\n"
    "[a link](javascript:alert(2)) and [another](https://example.org/)\n\n"
    '<svg onload="alert(3)"><a href="javascript:alert(4)">harbour</a></svg>\n\n<iframe src="https://example.org">'
)
HOSTILE_PAGE = (
    "<h1 onclick=alert(1)>Tempest</h1><script>alert(5)</script><style>body{display:none}</style>"
    "<p style='position:fixed'>The <a href='jAvAsCrIpT:alert(6)'>harbour</a> is <b>closed</b>.</p>"
    "<form action='https://example.org'><input name=password></form><p>unclosed <div <b"
)
CODE = """\
import json


class Lamp:
    def light(self, oil: int) -> str:
        return measure(oil)


def measure(oil: int) -> str:
    return json.dumps({"oil": oil})
"""


def make_site(folder: Path) -> StageRuns:
    """All stages, run on threads."""
    runs = StageRuns(folder)
    runs.write("docs/note.md", NOTE)
    runs.write("docs/deep/storm.md", HOSTILE_MARKDOWN)
    runs.write("docs/tempest.html", HOSTILE_PAGE)
    runs.write("docs/lamp.py", CODE)
    pages = draw_lines("Tide tables of the harbour", "High water is at noon."), draw_lines("Low water is at six.")
    (runs.docs / "tides.pdf").write_bytes(draw_pdf(*pages))
    runs.doctags()
    runs.chunk(tokens_max=100)
    runs.embed(dense="hash:16")
    runs.index()
    return runs
