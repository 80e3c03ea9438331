"""A small corpus, processed once per layout."""

from pathlib import Path

from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

IDS = ["docs/deep/page.html", "docs/note.md", "docs/plain.txt"]
PAGE = f"<h1>Rota</h1><p>{PROSE}</p><table><tr><th>day</th><th>who</th></tr><tr><td>1</td><td>a|b</td></tr></table>"
NOTE = "# Note\n\nThe *tide* is in [the table](https://example.org/tide).\n\n- one\n  - two\n\n```sh\nls\n```\n\n"


def make_corpus(folder: Path, layout: str) -> StageRuns:
    runs = StageRuns(folder)
    runs.write("docs/note.md", NOTE + PROSE * 40)
    runs.write("docs/deep/page.html", PAGE)
    runs.write("docs/plain.txt", PROSE)
    process(runs, layout)
    runs.index()
    return runs


def process(runs: StageRuns, layout: str = "store") -> None:
    runs.doctags(layout=layout)
    runs.chunk(layout=layout, tokens_max=100)
    runs.embed(layout=layout, dense="hash:16")
