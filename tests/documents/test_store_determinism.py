"""The rows of all stores are the same for any number and kind of workers, interrupted or not."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.documents.chunk import stage as chunk
from inorder.documents.doctags import stage as doctags
from inorder.documents.embed import stage as embed
from inorder.sinks.base import Entry, Position
from inorder.stage.store.sink import StoreSink
from tests.documents.archives.archive_files import make_archive
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE
from tests.stage.store.jobs import hash_store

pytestmark = pytest.mark.req("DAT-1", "JRN-7")

STAGES = {
    "doctags": doctags.make(doctags.DoctagsSettings()),
    "chunk": chunk.make(chunk.ChunkSettings(tokens_max=100)),
    "embed": embed.make(embed.EmbedSettings(dense="hash:16")),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> StageRuns:
    made = StageRuns(tmp_path_factory.mktemp("documents"))
    for number in range(9):
        made.write(f"docs/{number}.md", f"# Note {number}\n\n" + f"{number} {PROSE}\n\n" * (number + 1))
    made.write("docs/page.html", f"<h1>Rota</h1><p>{PROSE}</p><table><tr><th>a</th><td>1</td></tr></table>")
    made.write("docs/broken.docx", "PK\x03\x04")
    for ending in ("zip", "tar.gz"):
        texts = {f"{number}.md": f"# Letter {number // 2} in {ending}\n\n{PROSE}".encode() for number in range(4)}
        (made.docs / f"letters.{ending}").write_bytes(make_archive(ending, texts))
    return made


@pytest.fixture(scope="module")
def wanted(runs: StageRuns) -> dict[str, str]:
    """The hashes of the stores after a run with one worker."""
    return run_all(runs, "one", workers=1)


def run_all(runs: StageRuns, name: str, **options: Any) -> dict[str, str]:
    runs.data = runs.folder / name
    for stage in STAGES.values():
        assert runs.run(stage, **options).stop_kind is None
    return {stage: hash_store(runs.data, stage) for stage in STAGES}


def test_with_eight_threads(runs: StageRuns, wanted: dict[str, str]) -> None:
    assert run_all(runs, "eight", workers=8) == wanted


@pytest.mark.slow
@pytest.mark.process
def test_with_processes(runs: StageRuns, wanted: dict[str, str]) -> None:
    assert run_all(runs, "processes", workers=2, policy="cpu") == wanted


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_interrupted_at_the_commit_of_every_document(
    runs: StageRuns, wanted: dict[str, str], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before or after the store has committed; the journal has not in either case."""
    runs.data = runs.folder / f"interrupted {moment}"
    apply = StoreSink.apply
    seen: set[str] = set()

    def fail(sink: StoreSink, entries: Sequence[Entry]) -> Position:
        ids = {entry.item.item.item_id for entry in entries if entry.is_success}
        if not ids - seen:
            return apply(sink, entries)
        seen.update(ids)
        if moment == "after":
            apply(sink, entries)
        raise inorder.InfrastructureError("the machine was switched off")

    monkeypatch.setattr(StoreSink, "apply", fail)
    for stage in STAGES.values():
        seen.clear()
        is_done = False
        while not is_done:
            with suppress(inorder.InfrastructureError):
                is_done = runs.run(stage, workers=2).stop_kind is None
        assert seen
    assert {stage: hash_store(runs.data, stage) for stage in STAGES} == wanted


def test_a_run_over_results_of_other_documents(runs: StageRuns, wanted: dict[str, str]) -> None:
    """The history of updates leaves no trace."""
    changed, added = Path(runs.folder / "docs/1.md"), runs.write("docs/extra.md", "# Extra\n\nGone soon.")
    text = changed.read_text()
    changed.write_text("other words")
    run_all(runs, "updated", workers=2)
    changed.write_text(text)
    added.unlink()
    assert run_all(runs, "updated", workers=2) == wanted
