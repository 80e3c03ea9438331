"""Limits on the shape of the source: what is past them wants a redesign, not a longer file."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE_ROOT, Module, read_modules, write_package

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70


def shape_violations(root: Path) -> list[str]:
    return [violation for module in read_modules(root) for violation in _violations_in(module)]


def _violations_in(module: Module) -> Iterator[str]:
    if module.lines > FILE_LINES_MAX:
        yield f"{module.name}: {module.lines} lines in one file"
    if module.path.name == "utils.py":
        yield f"{module.name}: a utils module has no subject"
    if not ast.get_docstring(module.tree):
        yield f"{module.name}: no docstring"
    for node in ast.walk(module.tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if (lines := _line_count(node)) > FUNCTION_LINES_MAX:
                yield f"{module.where(node.lineno)}: {lines} lines in {node.name}"
            case ast.Assert():
                yield f"{module.where(node.lineno)}: assert, which python -O strips"


def _line_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring: a public one lists its arguments there."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    match function.body[0]:
        case ast.Expr(value=ast.Constant(value=str())) as docstring:
            lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def function_of(line_count: int) -> str:
    return '"""Doc."""\n@property\ndef long():\n' + "    pass\n" * (line_count - 1)


def test_the_package_is_in_shape() -> None:
    assert read_modules(PACKAGE_ROOT)
    assert shape_violations(PACKAGE_ROOT) == []


@pytest.mark.parametrize(
    ("relative", "source", "complaint"),
    [
        ("core/kernel.py", '"""Doc."""\n' + "x = 1\n" * FILE_LINES_MAX, "601 lines in one file"),
        ("core/kernel.py", function_of(FUNCTION_LINES_MAX + 1), "71 lines in long"),
        (
            "core/kernel.py",
            function_of(FUNCTION_LINES_MAX).replace("pass", '"""Doc."""', 1) + "    x\n" * 2,
            "71 lines in",
        ),
        ("core/kernel.py", '"""Doc."""\nasync def f():\n    assert True', "python -O strips"),
        ("core/kernel.py", "x = 1", "no docstring"),
        ("core/__init__.py", "", "no docstring"),
        ("host/utils.py", '"""Doc."""', "no subject"),
    ],
)
def test_a_misshapen_file_is_found(tmp_path: Path, relative: str, source: str, complaint: str) -> None:
    [violation] = shape_violations(write_package(tmp_path, {relative: source}))
    assert complaint in violation


def test_a_file_at_the_limits_is_let_through(tmp_path: Path) -> None:
    full_file = '"""Doc."""\n' + "x = 1\n" * (FILE_LINES_MAX - 1)
    sources = {"core/full.py": full_file, "core/long.py": function_of(FUNCTION_LINES_MAX)}
    assert shape_violations(write_package(tmp_path, sources)) == []
