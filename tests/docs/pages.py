"""The pages that people read: the texts at the root, and everything in `docs/`."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
AT_THE_ROOT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def pages() -> list[str]:
    return [*AT_THE_ROOT, *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]


@cache
def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def files() -> frozenset[str]:
    """Every file of the repository, tracked or about to be; without a checkout, every file there is."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return frozenset(name for name in listed.stdout.splitlines() if (ROOT / name).exists())
    return frozenset(str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file())
