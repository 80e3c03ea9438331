"""The words that a search suggests depend on what is indexed now, and not on how the index came to be."""

from pathlib import Path

import pytest

from inorder.index.search import SearchOptions, search
from inorder.library.opening import find_index
from tests.pipeline.runs import Library, write

pytestmark = pytest.mark.req("SEA-2")


def suggest(data: Path, question: str) -> list[str]:
    return list(search(find_index(str(data)), question, SearchOptions()).suggestions)


def test_an_updated_index_suggests_what_a_fresh_one_does(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write(docs, **{f"{number}.md": f"# Page {number}\n\nThe harbour in month {number}.\n" for number in range(20)})
    write(docs, **{"a.md": "# Light\n\nThe lantern shines.\n", "b.py": "def compute_total():\n    return 1\n"})
    updated, fresh = Library(tmp_path / "updated"), Library(tmp_path / "fresh")
    updated.run(docs)
    assert suggest(updated.data, "lanterm") == ["lantern"]
    assert "compute_total" in suggest(updated.data, "compute_totl")
    write(docs, **{"a.md": "# Light\n\nThe lamplight shines.\n", "b.py": "def measure_width():\n    return 1\n"})
    updated.run(docs)
    fresh.run(docs)
    asked = ["lanterm", "lantern", "lamplihgt", "compute_totl", "measure_widht", "harbuor"]
    found = {question: suggest(updated.data, question) for question in asked}
    assert found == {question: suggest(fresh.data, question) for question in asked}
    assert found["lanterm"] == found["compute_totl"] == []
    assert "lamplight" in found["lamplihgt"]
