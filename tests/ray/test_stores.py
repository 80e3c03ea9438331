"""Stages with stores on nodes: documents travel as bytes, and the rows are those of a run on this machine."""

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.documents.chunk import stage as chunk
from inorder.documents.doctags import stage as doctags
from inorder.documents.embed import stage as embed
from inorder.stage.store.database import StoreReader, store_path
from tests.documents.doctags.test_long_pdf import long_pdf
from tests.ray.machines import Machines

STAGES = (
    doctags.make(doctags.DoctagsSettings(split_pages=10)),
    chunk.make(chunk.ChunkSettings()),
    embed.make(embed.EmbedSettings(dense="hash:16")),
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources") / "docs"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n" + f"Words about {number}. " * 40)
    (folder / "long.pdf").write_bytes(long_pdf())
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 no more")
    return folder


def run_stages(sources: Path, data: Path, **options: Any) -> dict[str, list[Any]]:
    """Run the stages, and return the rows of their stores."""
    rows = {}
    for stage in STAGES:
        known = {"data": data, "workers": 2, "progress": "none", "fsync": "off", "policy": "cpu"} | options
        settings = msgspec.structs.replace(stage.options, **known)
        outcome = inorder.run_stage(stage.plan([sources], data), stage.worker, settings, stage.hooks)
        assert outcome.stop_kind is None
        name = outcome.stage
        with closing(StoreReader(store_path(str(data), name))) as reader:
            found = list(reader.iterate())
            fields = [(*row[:5], row.extras, row.size, row.sha256) for row in found]
        rows[name] = [str(row).replace(str(data), "DATA") for row in fields]
    return rows


@pytest.fixture(scope="module")
def local(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    return run_stages(sources, tmp_path_factory.mktemp("local") / "data")


@pytest.mark.req("DAT-1", "JRN-7")
@pytest.mark.parametrize("files", ["shared", "send"])
def test_stages_with_stores_give_the_same_rows_on_nodes(
    machines: Machines, sources: Path, local: dict[str, list[Any]], tmp_path: Path, files: str
) -> None:
    found = run_stages(sources, tmp_path / "data", engine="ray", ray=machines.options(files=files))
    assert found == local
    assert [len(rows) for rows in local.values()] == [19, 13, 27]
