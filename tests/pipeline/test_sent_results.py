"""Results of the library that an item needs are named in the item, and sent to nodes of a cluster."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from inorder.documents.chunk.settings import ChunkSettings
from inorder.library.reader import LibraryReader
from inorder.pipeline.outcome import RunOutcome
from inorder.pipeline.plan import FilePlan
from inorder.pipeline.sources.addressed import ResultInput, decode_result
from inorder.pipeline.sources.names import SourcePart
from inorder.pipeline.steps import PipelineSettings
from inorder.stage.contracts import StageError, WorkItem
from inorder.stage.file_transfer import StageFileTransfer
from inorder.stage.worker import StageTask

from .runs import Library, write

TEXT = "A tree of the forest."


@pytest.fixture
def library(tmp_path: Path) -> Library:
    write(tmp_path / "docs", **{"a.md": f"# Ash\n\n{TEXT}\n"})
    made = Library(tmp_path / "data", dense="hash:16")
    made.run(tmp_path / "docs")
    return made


@pytest.fixture
def item(library: Library, tmp_path: Path) -> Iterator[WorkItem]:
    """The item of a file whose chunks are to be made again, of the document that is there."""
    settings = PipelineSettings(dense="hash:16", chunk=ChunkSettings(tokens_max=64))
    parts = [SourcePart("docs", str(tmp_path / "docs"))]
    with closing(LibraryReader(str(library.data))) as reader:
        plan = FilePlan(settings, parts, reader, RunOutcome(), data=str(library.data))
        plan.compare()
        [found] = list(plan.make_items(lambda fact: None, lambda *parts: None))
        assert isinstance(found, WorkItem)
        yield found
        plan.close()


def find_result(item: WorkItem) -> ResultInput:
    [source] = item.inputs.values()
    assert isinstance(source, ResultInput)
    return source


@pytest.mark.req("PIP-2")
@pytest.mark.parametrize("sees_files", [False, True])
def test_every_node_gets_the_document_with_the_item(
    library: Library, item: WorkItem, tmp_path: Path, sees_files: bool
) -> None:
    """Also a node that sees DATA: nobody but the driver's machine opens the library."""
    transfer = StageFileTransfer(str(library.data), str(tmp_path), 2**20)
    packed = transfer.pack_item(StageTask(item), sees_files=sees_files)
    assert packed is not None
    sent, size = packed
    source = find_result(sent.task.item)
    os.rename(library.data, tmp_path / "elsewhere")
    assert source.content is not None
    assert size == len(source.content)
    content, texts = decode_result(source.content)
    assert content
    assert texts == []


def test_a_document_that_is_too_large_to_send_stays_with_the_driver(
    library: Library, item: WorkItem, tmp_path: Path
) -> None:
    transfer = StageFileTransfer(str(library.data), str(tmp_path), 1)
    assert transfer.pack_item(StageTask(item), sees_files=True) is None
    assert find_result(item).content is None


def test_a_result_that_has_changed_since_the_plan_is_an_error_that_may_pass(item: WorkItem) -> None:
    source = msgspec.structs.replace(find_result(item), sha256="00")
    with pytest.raises(StageError, match="the result of doctags changed while it was read") as raised:
        source.read()
    assert raised.value.retryable
