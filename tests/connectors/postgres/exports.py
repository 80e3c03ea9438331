"""Exports of small indexes to a server, and what the tables hold afterwards."""

from pathlib import Path
from typing import Any

from inorder.runtime.limits import Windows
from inorder.stage.contracts import StageOutcome
from inorder.stage.options import StageOptions
from inorder.stage.run import run_stage
from inorder.targets.stage import ExportSettings, make_stage
from tests.connectors.postgres.server import PostgresServer
from tests.documents.stage_runs import StageRuns

TABLES = ("documents", "chunks", "terms")


def export(data: Path, address: str, **settings: Any) -> StageOutcome:
    """Export the index of DATA in this process, with at most eight documents per write: those of two windows."""
    stage = make_stage(ExportSettings(to=address, **settings))
    windows = Windows(entries=4, adaptive=False)
    options = StageOptions(data=str(data), progress="none", policy="io", workers=2, fsync="off", windows=windows)
    assert stage.sinks is not None
    return run_stage(stage.plan([], data), stage.worker, options, sinks=stage.sinks(data))


def read_tables(server: PostgresServer, database: str, collection: str = "inorder") -> dict[str, Any]:
    """All rows of an export."""
    return {table: server.execute(f"SELECT * FROM {collection}.{table} ORDER BY 1, 2", database) for table in TABLES}


def make_index(runs: StageRuns, texts: dict[str, str]) -> None:
    """Make the index of these documents alone."""
    for path in runs.docs.iterdir():
        path.unlink()
    for name, text in texts.items():
        runs.write(f"docs/{name}", text)
    runs.doctags()
    runs.chunk(tokens_max=40)
    runs.embed(dense="hash:16")
    runs.index()


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
