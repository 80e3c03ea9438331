"""Scripts outside the package import names that exist: benchmarks, tools and examples are not run by the tests."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for folder in ("bench", "tools", "examples") for path in (ROOT / folder).glob("*.py"))


def missing_names(source: str) -> list[str]:
    """Names that the source imports from the package, and that are not there."""
    missing = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "inorder":
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                is_module = (
                    find_spec(f"{node.module}.{alias.name}") is not None if hasattr(module, "__path__") else False
                )
                if not is_module and not hasattr(module, alias.name):
                    missing.append(f"{node.module}.{alias.name}")
    return missing


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_imports_only_what_is_there(path: Path) -> None:
    assert missing_names(path.read_text(encoding="utf-8")) == []


def test_a_missing_name_is_found() -> None:
    source = "from inorder.journal.records import Commit, encode\nfrom inorder.journal import records, nothing"
    assert missing_names(source) == ["inorder.journal.records.encode", "inorder.journal.nothing"]
