"""A small corpus, processed."""

from pathlib import Path

from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

IDS = ["docs/deep/page.html", "docs/note.md", "docs/plain.txt"]
PAGE = f"<h1>Rota</h1><p>{PROSE}</p><table><tr><th>day</th><th>who</th></tr><tr><td>1</td><td>a|b</td></tr></table>"
NOTE = "# Note\n\nThe *tide* is in [the table](https://example.org/tide).\n\n- one\n  - two\n\n```sh\nls\n```\n\n"


def make_corpus(folder: Path) -> StageRuns:
    runs = StageRuns(folder)
    runs.write("docs/note.md", NOTE + PROSE * 40)
    runs.write("docs/deep/page.html", PAGE)
    runs.write("docs/plain.txt", PROSE)
    process(runs)
    runs.index()
    return runs


def process(runs: StageRuns) -> None:
    runs.doctags()
    runs.chunk(tokens_max=100)
    runs.embed(dense="hash:16")
