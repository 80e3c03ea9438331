"""The worker of `doctags`, called for one item."""

from pathlib import Path

import pytest

from inorder.documents.convert.parts import PageRange
from inorder.documents.doctags.worker import work
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem
from inorder.stage.options import StageOptions


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [(11, 100, "pages 11 to 100 could"), (1, 10, "pages 1 to 10 could"), (1001, 2000, "pages 1001 to 2000 could")],
)
def test_a_missing_part_is_named_by_its_pages(tmp_path: Path, first: int, last: int, reason: str) -> None:
    meta = {"task": "merge", "problem": "", "password_file": "none"}
    meta |= {"parts": [PageRange(first, last).name]}
    item = WorkItem(item_id="docs/long.pdf", inputs={}, outputs={}, cfg_hash="", meta=meta)
    with pytest.raises(StageError, match=rf"^{reason} not be read"):
        work(item, StageContext("doctags", StageOptions(data=tmp_path), {}))


def test_names_of_page_ranges_sort_as_pages_do() -> None:
    ranges = [PageRange(1, 9), PageRange(10, 99), PageRange(100, 100_000)]
    assert sorted(pages.name for pages in ranges) == [pages.name for pages in ranges]
    assert [PageRange.parse(pages.name) for pages in ranges] == ranges
