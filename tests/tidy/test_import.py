"""Importing the package stays light: what only some users need is imported when they need it."""

import subprocess
import sys
from pathlib import Path

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
    return {*finished.stdout.split(), *finished.stderr.split()}  # a command sends what others print to stderr


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = modules_loaded_by("import inorder")
    assert "inorder" in loaded
    assert loaded & HEAVY == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert modules_loaded_by("import sqlite3, multiprocessing") & HEAVY == {"sqlite3", "multiprocessing"}


def test_a_run_without_an_export_loads_no_client_of_a_database_or_store(tmp_path: Path) -> None:
    (tmp_path / "lamp.py").write_text("def light():\n    return 1\n")
    arguments = ["index", str(tmp_path / "lamp.py"), "--data", str(tmp_path / "data"), "--policy", "io", "--quiet"]
    loaded = modules_loaded_by(f"from inorder.cli.app import run_command; run_command({arguments})")
    assert "inorder.library.writer" in loaded
    assert loaded & {"pyarrow", "fsspec", "psycopg", "aiohttp"} == set()


def test_a_run_of_plain_documents_loads_nothing_for_other_ones(tmp_path: Path) -> None:
    (tmp_path / "lamp.md").write_text("# Lamp\n\nIt is lit at dusk.\n")
    arguments = ["run", str(tmp_path / "lamp.md"), "--data", str(tmp_path / "data"), "--policy", "io", "--quiet"]
    loaded = modules_loaded_by(
        f"from inorder.cli.app import run_command; run_command({[*arguments, '--dense', 'hash']})"
    )
    assert "inorder.documents.readers.markdown.reader" in loaded
    assert loaded & {"inorder.documents.readers.html.rules", "inorder.stage.monitor.prometheus", "zipfile"} == set()


def test_a_run_that_finds_nothing_to_do_loads_neither_the_runner_nor_what_writes_results(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "CONTRIBUTING.md"  # a file that is new would be read again, and noted
    arguments = ["run", str(page), "--data", str(tmp_path / "data"), "--dense", "hash", "--quiet"]
    run = f"from inorder.cli.app import run_command; assert run_command({arguments}) == 0"
    written = {"numpy", "inorder.stage.run", "inorder.library.writer"}
    assert modules_loaded_by(run) & written == written
    loaded = modules_loaded_by(run)
    assert "inorder.pipeline.comparison" in loaded
    assert loaded & {*written, "multiprocessing", "inorder.cli.data_dir", "inorder.engines.factory"} == set()
