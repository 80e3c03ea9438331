"""The page on performance and the chart in the README show the figures recorded in `bench/results.json`."""

import json
import re
from typing import Any

import pytest

from bench.chart import RESULTS, verdict
from tests.docs.pages import read
from tests.mutants.test_mutants import ALL

RECORDED: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
PAGE = "docs/explanation/performance.md"


def rows_of_page() -> dict[str, list[str]]:
    lines = [line for line in read(PAGE).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {first.replace("`", ""): rest for first, *rest in cells}


def shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


@pytest.mark.parametrize("table", ["gauntlet", "documents", "pipeline", "ray"])
def test_a_table_shows_what_is_recorded(table: str) -> None:
    rows = rows_of_page()
    for name, values in RECORDED[table]["rows"].items():
        assert [cell.partition(" (")[0] for cell in rows[name]] == [shown(value) for value in values]


@pytest.mark.parametrize("name", RECORDED)
def test_every_measurement_names_its_command_its_date_and_its_machine(name: str) -> None:
    assert all(RECORDED[name][field] for field in ("title", "command", "date", "machine"))
    assert RECORDED[name]["command"] in read(PAGE)


def test_verdicts_of_the_gauntlet() -> None:
    assert verdict("199 + named") == verdict("199 + named, child gone") == verdict("200") == "complete"
    assert verdict("199 + named, then hangs") == verdict("200, child left") == "flawed"
    assert verdict("83 to 86, the rest errors") == verdict("77, then broken") == "lost"


@pytest.mark.parametrize("page", ["README.md", "docs/explanation/guarantees.md"])
def test_the_number_of_mutants_is_current(page: str) -> None:
    stated = re.search(r"each of more than (\d+) hand-written mutants is caught", read(page))
    assert stated
    assert int(stated[1]) < len(ALL) <= int(stated[1]) + 100
