"""Runs that are killed while a model reads pages lose no page, and pay for none twice."""

from pathlib import Path

import pytest

from .page_kills import IN_FLIGHT, survive

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.mark.req("MOD-2")
@pytest.mark.timeout(300)
def test_killed_runs_repeat_at_most_the_requests_in_flight(tmp_path: Path) -> None:
    """`make soak-pages` is the same over 2,000 pages with 200 kills."""
    found = survive(tmp_path, pages=60, kills=6)
    assert found.read == found.pages, "each page is in the library once"
    assert set(found.answered) == set(found.pages)
    assert found.kills.total() >= 5
    assert found.repeated <= IN_FLIGHT * found.kills.total()
