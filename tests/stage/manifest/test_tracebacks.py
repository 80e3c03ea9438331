"""Failures keep their tracebacks, wherever they happen."""

from pathlib import Path

import pytest

from inorder.stage.manifest.rows import VOLATILE_FIELDS
from tests.stage.jobs import Place, steady
from tests.stage.workers import obey

pytestmark = pytest.mark.req("RUN-15")


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_a_failure_keeps_the_traceback_of_its_worker(place: Place, policy: str) -> None:
    place.run([place.item("a"), place.item("b", "raise anew"), place.item("c", "raise not picklable")], policy=policy)
    assert place.row("a")["traceback"] == ""
    for name, ending in (("b", "ValueError: this one is bad"), ("c", "NotPicklable: it holds a lock")):
        lines = place.row(name)["traceback"].splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[1].endswith("in obey")
        assert lines[1].startswith(f'  File "{Path(obey.__code__.co_filename)}", line ')
        assert lines[-1].endswith(ending)


@pytest.mark.process
def test_a_traceback_is_volatile_and_the_same_in_threads_and_processes(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Place(tmp_path_factory.mktemp("other"))
    for one, policy in ((place, "io"), (other, "cpu")):
        one.run([one.item("b", "raise anew")], policy=policy)
    assert "traceback" in VOLATILE_FIELDS
    assert all("traceback" not in row for row in steady(place.lines()))
    assert place.row("b")["traceback"] == other.row("b")["traceback"]
