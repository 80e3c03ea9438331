"""Exports of small indexes to a server, and what the tables hold afterwards."""

from pathlib import Path
from typing import Any

from inorder.documents.chunk.settings import ChunkSettings
from inorder.runtime.limits import Windows
from inorder.stage.contracts import StageOutcome
from inorder.stage.options import StageOptions
from inorder.targets.export import ExportSettings, export_index
from tests.connectors.postgres.server import PostgresServer
from tests.pipeline.runs import Library, write

TABLES = ("documents", "chunks", "terms")


class Corpus:
    """Documents in `docs`, and DATA beside them."""

    def __init__(self, folder: Path, dense: str = "hash:16", tokens_max: int = 40) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.data = folder / "data"
        self.dense = dense
        self._chunk = ChunkSettings(tokens_max=tokens_max)
        self.docs.mkdir(parents=True)

    def run(self, *sources: str) -> None:
        """Run the pipeline on folders of this one, `docs` unless others are named."""
        library = Library(self.data, dense=self.dense, chunk=self._chunk)
        library.run(*(self.folder / name for name in sources or ("docs",)), fsync="off")

    def make(self, texts: dict[str, str]) -> None:
        """Make the index of these documents alone."""
        for path in self.docs.iterdir():
            path.unlink()
        write(self.docs, **texts)
        self.run()


def export(data: Path, address: str, **settings: Any) -> StageOutcome:
    """Export the index of DATA in this process, with at most eight documents per write: those of two windows."""
    windows = Windows(entries=4, adaptive=False)
    options = StageOptions(data=str(data), progress="none", policy="io", workers=2, fsync="off", windows=windows)
    return export_index(ExportSettings(to=address, **settings), options)


def read_tables(server: PostgresServer, database: str, collection: str = "inorder") -> dict[str, Any]:
    """All rows of an export."""
    return {table: server.execute(f"SELECT * FROM {collection}.{table} ORDER BY 1, 2", database) for table in TABLES}


def make_texts(count: int, edition: str) -> dict[str, str]:
    """Documents with a few chunks each."""
    return {
        f"{number:03}.md": "".join(
            f"# Part {part} of {number}\n\nThe {edition} edition of note {number} tells of lamps, tides and horns; "
            f"its part {part} has {number * part} words about the keeper and the fog bell.\n\n"
            for part in range(1 + number % 4)
        )
        for number in range(count)
    }
