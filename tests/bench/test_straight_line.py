"""The straight line beside `inorder run`, with a few notes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
pytestmark = pytest.mark.process


def run_script(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / "straight_line.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_both_are_measured_in_every_round(tmp_path: Path) -> None:
    ended = run_script("--documents", 20, "--rounds", 2, "--json", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    assert found["documents"] == 20
    for straight_s, run_s, straight_ms, run_ms, ratio in zip(
        *(found[name] for name in ("straight_s", "run_s", "straight_ms", "run_ms", "ratio")), strict=True
    ):
        assert straight_s > 0
        assert straight_ms == pytest.approx(straight_s * 50)
        assert run_ms == pytest.approx(run_s * 50)
        assert ratio == pytest.approx(run_s / straight_s)
    assert len(found["ratio"]) == 2


def test_the_straight_line_ends_in_an_index_that_can_be_searched(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, word in (("a", "lighthouse"), ("b", "harbour")):
        (notes / f"{name}.md").write_text(f"# Title\n\nThe {word} is old.\n", encoding="utf-8")
    ended = run_script("--take", notes, tmp_path / "data", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    program = "import sys; from pathlib import Path; from straight_line import find_notes; "
    program += "print(find_notes(Path(sys.argv[1]), 'lighthouse')[0])"
    found = subprocess.check_output([sys.executable, "-c", program, tmp_path / "data"], cwd=BENCH, text=True)
    assert found.strip() == "notes/a.md"
