"""DATA to serve: documents of several formats, hostile ones among them, and source code."""

from pathlib import Path
from typing import Any

from inorder.documents.chunk.settings import ChunkSettings
from inorder.pipeline.outcome import RunOutcome
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.pipeline.runs import Library, write

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


class Site(Library):
    """A folder `docs`, and DATA beside it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(folder / "data", **settings)
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir(exist_ok=True)

    def write(self, **files: str | bytes) -> None:
        write(self.docs, **files)

    def read_docs(self, **options: Any) -> RunOutcome:
        """Run the pipeline over the documents, with telemetry."""
        return self.run(self.docs, **{"telemetry": True, **options})


def make_site(folder: Path) -> Site:
    """Everything that is served, run on threads."""
    site = Site(folder, chunk=ChunkSettings(tokens_max=100), dense="hash:16")
    site.write(**{"note.md": NOTE, "deep/storm.md": HOSTILE_MARKDOWN, "tempest.html": HOSTILE_PAGE, "lamp.py": CODE})
    pages = draw_lines("Tide tables of the harbour", "High water is at noon."), draw_lines("Low water is at six.")
    site.write(**{"tides.pdf": draw_pdf(*pages)})
    site.read_docs()
    return site
