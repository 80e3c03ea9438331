"""Importing the package stays light: what only some users need is imported when they need it."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

HEAVY = {
    "docling_core",
    "lxml",
    "multiprocessing",
    "numpy",
    "pyarrow",
    "ray",
    "rich",
    "sqlite3",
    "torch",
    "typer",
}


def modules_loaded_by(statement: str) -> set[str]:
    """Names in `sys.modules` that the statement adds in a fresh interpreter."""
    program = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(finished.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = modules_loaded_by("import inorder")
    assert "inorder" in loaded
    assert loaded & HEAVY == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert modules_loaded_by("import sqlite3, multiprocessing") & HEAVY == {"sqlite3", "multiprocessing"}
