"""The retrievers for LangChain and LlamaIndex in `examples/`, with the packages that `make test-adapters` installs."""

import asyncio
import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.documents.stage_runs import StageRuns

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGES = {"langchain_retriever": "langchain_core", "llama_index_retriever": "llama_index.core"}
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
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


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
    [(text, chunk_id, metadata), *_] = ask(load(name).InorderRetriever(data=data), QUESTION)
    assert "The horn is sounded in fog." in text
    assert chunk_id
    assert metadata["source"].endswith("docs/horn.md")
    assert metadata["kind"] == "document"


def test_options_are_those_of_the_search(name: str, data: str) -> None:
    retriever = load(name).InorderRetriever(data=data, k=1, mode="lexical", where={"only": "code"})
    [(text, _, metadata)] = ask(retriever, QUESTION)
    assert "sound_horn" in text
    assert metadata["source"].endswith("code/horn.py:1")


def test_it_can_be_awaited_and_shared_by_threads(name: str, data: str) -> None:
    retriever = load(name).InorderRetriever(data=data)
    expected = [chunk_id for _, chunk_id, _ in ask(retriever, QUESTION)]

    async def ask_together() -> list[list[str]]:
        return await asyncio.gather(*(ask_async(retriever, QUESTION) for _ in range(4)))

    assert asyncio.run(ask_together()) == [expected] * 4
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: [each[1] for each in ask(retriever, QUESTION)], range(8)))
    assert found == [expected] * 8


def test_the_example_prints_what_it_finds(name: str, data: str, capsys: pytest.CaptureFixture[str]) -> None:
    load(name).main(data, QUESTION)
    assert "docs/horn.md" in capsys.readouterr().out.split("\n")[0]
