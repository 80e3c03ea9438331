"""Sizes that occur once are told from those that occur twice."""

import pytest

from inorder.files.size_filter import SizeFilter


@pytest.mark.slow
def test_sizes_that_occur_once_are_told_from_those_that_occur_twice() -> None:
    sizes = SizeFilter()
    for size in [*range(1, 100_000), 7, 50_000]:
        sizes.add(size)
    assert sizes.has_two(7)
    assert sizes.has_two(50_000)
    assert sum(sizes.has_two(size) for size in range(1, 100_000)) < 2_000
