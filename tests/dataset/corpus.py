"""A small corpus, processed."""

from pathlib import Path

from tests.documents.workspace import PROSE
from tests.pipeline.folders import FolderRuns

IDS = ["docs/deep/page.html", "docs/note.md", "docs/plain.txt"]
PAGE = f"<h1>Rota</h1><p>{PROSE}</p><table><tr><th>day</th><th>who</th></tr><tr><td>1</td><td>a|b</td></tr></table>"
NOTE = "# Note\n\nThe *tide* is in [the table](https://example.org/tide).\n\n- one\n  - two\n\n```sh\nls\n```\n\n"


def make_runs(folder: Path) -> FolderRuns:
    """A folder without files, and the settings of the corpus."""
    return FolderRuns(folder, tokens_max=100, dense="hash:16")


def make_corpus(folder: Path) -> FolderRuns:
    runs = make_runs(folder)
    runs.write("docs/note.md", NOTE + PROSE * 40)
    runs.write("docs/deep/page.html", PAGE)
    runs.write("docs/plain.txt", PROSE)
    runs.run()
    return runs
