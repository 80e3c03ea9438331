"""Chunks of long tables, from the file to the hit of a search."""

from pathlib import Path

import pytest

import inorder
from tests.pipeline.folders import FolderRuns

pytestmark = pytest.mark.req("DOC-2")
HEADER = "lighthouse | keeper | litres"


def test_a_hit_within_a_long_table_says_what_its_columns_are(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, dense="hash:8")
    rows = [f"tower{number},person{number},{3 * number}" for number in range(300)]
    runs.write("docs/oil.csv", "\n".join(["lighthouse,keeper,litres", *rows]))
    runs.run()
    with inorder.open(runs.data) as data:
        [hit] = data.search("litres of tower250", k=1).hits
        [document] = data.documents()
        chunks = list(document.chunks)
    assert "tower250 | person250 | 750" in hit.text
    assert [chunk.text.startswith(HEADER) for chunk in chunks] == [True] * len(chunks)
    assert len(chunks) > 2
    assert sum(chunk.text.count("\n") for chunk in chunks) == len(rows)
