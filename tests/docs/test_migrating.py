"""The fields of a manifest that the page on migrating names are those that a run writes."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, read
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

SAMPLE = ROOT / "examples" / "sample"
ROWS = ("__config__", "__run__", "__corpus__", "avg_nnz")
"""Rows, and a field of sparse vectors, which need a model."""


def named_fields() -> set[str]:
    section = read("docs/guides/migrating.md").partition("<!-- fields -->")[2].partition("\n\nCounters")[0]
    here = [line.split(" | ")[1] for line in section.splitlines() if line.startswith("| ") and " | " in line]
    return set(re.findall(r"`(\w+)`", "\n".join(here))) - set(ROWS)


@pytest.mark.process
def test_every_field_that_is_named_is_written(tmp_path: Path) -> None:
    run_in_process(["run", str(SAMPLE), "--data", "data", "--quiet"], tmp_path, clean_environment())
    fields: set[str] = set()
    for path in (tmp_path / "data" / "manifests").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            fields |= json.loads(line).keys()
    assert named_fields() - fields == set()
    assert len(named_fields()) > 30
