"""What a document tells while it is read."""

from pathlib import Path
from typing import Any

import pytest

import inorder
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns


@pytest.mark.req("HBT-1")
@pytest.mark.parametrize("split_pages", [0, 2])
def test_a_pdf_tells_which_page_is_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split_pages: int
) -> None:
    told: list[tuple[str, Any]] = []

    def progress(self: inorder.StageContext, done: float, total: float | None = None, note: str = "") -> None:
        assert self.item is not None
        told.append((self.item.item_id, (done, total, note)))

    monkeypatch.setattr(inorder.StageContext, "progress", progress)
    monkeypatch.setattr("inorder.documents.convert.parts.LARGE_BYTES", 0)
    runs = StageRuns(tmp_path)
    (runs.docs / "a.pdf").write_bytes(draw_pdf(*(draw_lines(f"This is page {number}.") for number in (1, 2, 3))))
    assert runs.doctags(split_pages=split_pages).counts.failed == 0
    lasts = {0: [3, 3, 3], 2: [2, 2, 3]}[split_pages]
    assert sorted(report for _, report in told) == [(page, lasts[page - 1], "page") for page in (1, 2, 3)]
