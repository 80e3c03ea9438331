"""Limits on the shape of the source: what is past them wants a redesign, not a longer file."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE_ROOT, Module, read_modules, write_package

FOLDER_FILES_MAX = 20
FUNCTION_LINES_MAX = 70
IMPORTS_MAX = 42
"""Imports at the top of one file. A ceiling that may only fall: many imports are a missing part."""
PARAMETERS_MAX = 29
"""Parameters of one function. A ceiling that may only fall."""


def shape_violations(root: Path) -> list[str]:
    modules = read_modules(root)
    return [
        *(violation for module in modules for violation in _violations_in(module)),
        *_crowded_folders(modules),
        *_pairs(modules),
        *_repeated_classes(modules),
    ]


def _crowded_folders(modules: list[Module]) -> Iterator[str]:
    for folder, count in Counter(module.path.parent for module in modules).items():
        if count > FOLDER_FILES_MAX:
            yield f"{folder.name}: {count} files in one folder"


def _pairs(modules: list[Module]) -> Iterator[str]:
    """Two files with one purpose: `explain.py` and `explaining.py`, `plan.py` and `plans.py`."""
    paths = {module.path for module in modules}
    for path in sorted(paths):
        for ending in ("s", "ing", "ed", "er"):
            if (
                path.with_stem(path.stem + ending) in paths
                or path.with_stem(path.stem.removesuffix("e") + ending) in paths
            ):
                yield f"{path.name}: a pair with a file named {path.stem}-{ending}"


def _repeated_classes(modules: list[Module]) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module.name)
    for name, found in places.items():
        if len(found) > 1:
            yield f"class {name} occurs in {' and '.join(found)}"


def _violations_in(module: Module) -> Iterator[str]:
    imports = sum(isinstance(node, ast.Import | ast.ImportFrom) for node in module.tree.body)
    if imports > IMPORTS_MAX:
        yield f"{module.name}: {imports} imports in one file"
    if module.path.name == "utils.py":
        yield f"{module.name}: a utils module has no subject"
    if not ast.get_docstring(module.tree):
        yield f"{module.name}: no docstring"
    for node in ast.walk(module.tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if (lines := _line_count(node)) > FUNCTION_LINES_MAX:
                yield f"{module.where(node.lineno)}: {lines} lines in {node.name}"
            case ast.FunctionDef() | ast.AsyncFunctionDef() if (count := _parameter_count(node)) > PARAMETERS_MAX:
                yield f"{module.where(node.lineno)}: {count} parameters of {node.name}"
            case ast.Assert():
                yield f"{module.where(node.lineno)}: assert, which python -O strips"


def _line_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring: a public one lists its arguments there."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    match function.body[0]:
        case ast.Expr(value=ast.Constant(value=str())) as docstring:
            lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def _parameter_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters of a function without `self` and `cls`."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def function_of(line_count: int) -> str:
    return '"""Doc."""\n@property\ndef long():\n' + "    pass\n" * (line_count - 1)


def names_of(count: int) -> str:
    return ", ".join(f"a{number}" for number in range(count))


@pytest.mark.slow
def test_the_package_is_in_shape() -> None:
    assert read_modules(PACKAGE_ROOT)
    assert shape_violations(PACKAGE_ROOT) == []


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [
        ({f"host/m{number}.py": '"""Doc."""' for number in range(21)}, "host: 21 files in one folder"),
        ({"cli/explain.py": '"""Doc."""', "cli/explaining.py": '"""Doc."""'}, "explain.py: a pair"),
        ({"cli/retry.py": '"""Doc."""', "cli/retrys.py": '"""Doc."""'}, "retry.py: a pair"),
        (
            {"core/a.py": '"""Doc."""\nclass Job: ...', "lanes/b.py": '"""Doc."""\nclass Job: ...'},
            "class Job occurs in inorder.core.a and inorder.lanes.b",
        ),
    ],
)
def test_a_house_out_of_order_is_found(tmp_path: Path, sources: dict[str, str], complaint: str) -> None:
    [violation] = shape_violations(write_package(tmp_path, sources))
    assert complaint in violation


@pytest.mark.parametrize(
    ("relative", "source", "complaint"),
    [
        (
            "core/kernel.py",
            '"""Doc."""\n' + "import os\n" * (IMPORTS_MAX + 1),
            f"{IMPORTS_MAX + 1} imports in one file",
        ),
        (
            "core/kernel.py",
            f'"""Doc."""\ndef f({names_of(PARAMETERS_MAX + 1)}): ...',
            f"{PARAMETERS_MAX + 1} parameters of f",
        ),
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
    full_file = (
        f'"""Doc."""\nclass A:\n    def f(self, {names_of(PARAMETERS_MAX)}): ...\n' + "import os\n" * IMPORTS_MAX
    )
    sources = {"core/full.py": full_file, "core/long.py": function_of(FUNCTION_LINES_MAX)}
    assert shape_violations(write_package(tmp_path, sources)) == []
