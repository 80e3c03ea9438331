"""What is under version control: ours, and nothing that was installed or built."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def listed(*options: str) -> list[str]:
    asked = subprocess.run(["git", "ls-files", *options], cwd=ROOT, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        pytest.skip("not a checkout")
    return asked.stdout.splitlines()


def test_nothing_that_is_ignored_is_tracked() -> None:
    assert listed("--cached", "--ignored", "--exclude-standard") == []


def test_nothing_large_is_tracked() -> None:
    large = [name for name in listed() if (ROOT / name).is_file() and (ROOT / name).stat().st_size > 2**20]
    assert large == []
