"""The retrievers for LangChain and LlamaIndex, with the packages that `make test-adapters` installs."""

import asyncio
import importlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.documents.stage_runs import StageRuns

PACKAGES = {"langchain": "langchain_core", "llama_index": "llama_index.core"}
QUESTION = "is the horn sounded in fog or at night"
pytestmark = [pytest.mark.req("SEA-4"), pytest.mark.parametrize("name", PACKAGES), pytest.mark.slow]


@pytest.fixture
def data(tmp_path: Path) -> str:
    runs = StageRuns(tmp_path)
    runs.write("docs/horn.md", "# The horn\n\nThe horn is sounded in fog.\n")
    runs.write("docs/lamp.md", "# The lamp\n\nThe lamp burns at night.\n")
    runs.write("code/horn.py", "def sound_horn():\n    return 1\n")
    runs.doctags("docs")
    runs.chunk()
    runs.embed()
    runs.index("docs", "code")
    return str(runs.data)


def load(name: str) -> ModuleType:
    pytest.importorskip(PACKAGES[name], reason="make test-adapters installs it")
    return importlib.import_module(f"inorder.adapters.{name}")


def open_retriever(name: str, **options: Any) -> Any:
    return getattr(load(name), {"langchain": "LangChainRetriever", "llama_index": "LlamaIndexRetriever"}[name])(
        **options
    )


def ask(retriever: Any, question: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Text, id and metadata of what was found, through the public method of the package."""
    if hasattr(retriever, "retrieve"):
        return [
            (each.node.get_content(), each.node.node_id, each.node.metadata) for each in retriever.retrieve(question)
        ]
    return [(each.page_content, each.id, each.metadata) for each in retriever.invoke(question)]


async def ask_async(retriever: Any, question: str) -> list[str]:
    if hasattr(retriever, "aretrieve"):
        return [each.node.node_id for each in await retriever.aretrieve(question)]
    return [each.id for each in await retriever.ainvoke(question)]


def test_chunks_are_found_with_where_they_are(name: str, data: str) -> None:
    [(text, chunk_id, metadata), *_] = ask(open_retriever(name, data=data), QUESTION)
    assert "The horn is sounded in fog." in text
    assert chunk_id
    assert metadata["source"].endswith("docs/horn.md")
    assert metadata["kind"] == "document"


def test_options_are_those_of_the_search(name: str, data: str) -> None:
    retriever = open_retriever(name, data=data, k=1, mode="lexical", where={"only": "code"})
    [(text, _, metadata)] = ask(retriever, QUESTION)
    assert "sound_horn" in text
    assert metadata["source"].endswith("code/horn.py:1")


def test_it_can_be_awaited_and_shared_by_threads(name: str, data: str) -> None:
    retriever = open_retriever(name, data=data)
    expected = [chunk_id for _, chunk_id, _ in ask(retriever, QUESTION)]

    async def ask_together() -> list[list[str]]:
        return await asyncio.gather(*(ask_async(retriever, QUESTION) for _ in range(4)))

    assert asyncio.run(ask_together()) == [expected] * 4
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: [each[1] for each in ask(retriever, QUESTION)], range(8)))
    assert found == [expected] * 8


def test_pages_and_boxes_of_a_pdf_are_in_the_metadata(name: str, tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    path = tmp_path / "docs" / "horn.pdf"
    path.parent.mkdir(exist_ok=True)
    canvas = Canvas(str(path))
    canvas.drawString(72, 700, "The horn is sounded in fog.")
    canvas.save()
    runs.doctags("docs")
    runs.chunk()
    runs.index("docs")
    [(_, _, metadata)] = ask(open_retriever(name, data=str(runs.data)), QUESTION)
    assert metadata["pages"] == [1]
    [box] = metadata["boxes"]
    assert box["page"] == 1
    assert 0 < box["left"] < box["right"] < 1
    assert 0 < box["top"] < box["bottom"] < 0.5
    assert "page 1" in metadata["citation"]
