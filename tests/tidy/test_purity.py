"""The core decides and does nothing else: no clock, no file, no randomness, nothing that varies with the hash seed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE_ROOT, Import, Module, read_modules, write_package

STDLIB_ALLOWED = {
    "__future__",
    "array",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "math",
    "operator",
    "typing",
    "zlib",
}
PACKAGES_ALLOWED = ("msgspec", "inorder.core", "inorder.errors")
EFFECTS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
HASH_SEED_DEPENDENT = {"hash", "id"}
NAMES_FORBIDDEN = EFFECTS | HASH_SEED_DEPENDENT


def import_is_pure(imported: Import) -> bool:
    inside_package = any(f"{imported.name}.".startswith(f"{package}.") for package in PACKAGES_ALLOWED)
    return inside_package or imported.module in STDLIB_ALLOWED


def is_unordered(node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name("set" | "frozenset")):
            return True
    return False


def impurities(module: Module) -> Iterator[str]:
    for imported in module.imports():
        if not import_is_pure(imported):
            yield f"{module.where(imported.line)}: imports {imported.name}"
    for node in ast.walk(module.tree):
        match node:
            # A bare reference counts too: `sorted(items, key=id)` is as bad as a call.
            case ast.Name(id=name, ctx=ast.Load()) if name in NAMES_FORBIDDEN:
                yield f"{module.where(node.lineno)}: uses {name}"
            case ast.For(iter=iterated) | ast.comprehension(iter=iterated) if is_unordered(iterated):
                yield f"{module.where(iterated.lineno)}: iterates over a set"


def core_impurities(root: Path) -> list[str]:
    core = [module for module in read_modules(root) if f"{module.name}.".startswith("inorder.core.")]
    return [impurity for module in core for impurity in impurities(module)]


@pytest.mark.slow
def test_the_core_is_pure() -> None:
    assert (PACKAGE_ROOT / "core").is_dir()
    assert core_impurities(PACKAGE_ROOT) == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import time", "imports time"),
        ("import collections, os.path", "imports os.path"),
        ("from random import Random", "imports random.Random"),
        ("def late():\n    import threading", "imports threading"),
        ("from ..host.clock import Clock", "imports inorder.host.clock.Clock"),
        ("import inorder", "imports inorder"),
        ("print('hello')", "uses print"),
        ("def load():\n    return open('file')", "uses open"),
        ("order = sorted([], key=hash)", "uses hash"),
        ("key = id(object())", "uses id"),
        ("for x in {1, 2}:\n    pass", "iterates over a set"),
        ("for x in set([1]):\n    pass", "iterates over a set"),
        ("xs = [x for x in frozenset([1])]", "iterates over a set"),
    ],
)
def test_an_impurity_in_the_core_is_found(tmp_path: Path, source: str, complaint: str) -> None:
    [impurity] = core_impurities(write_package(tmp_path, {"core/kernel.py": source}))
    assert impurity.endswith(complaint)


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations\nimport collections.abc\nfrom collections import abc, deque",
        "import msgspec.json\nfrom msgspec import Struct",
        "from . import ledger\nfrom .states import State\nfrom inorder import core\nimport inorder.core.events",
        "for x in sorted({1, 2}):\n    pass\nseen = set()\nx in seen",
        "def name_of(window):\n    return window.id",
    ],
)
def test_pure_code_in_the_core_is_let_through(tmp_path: Path, source: str) -> None:
    assert core_impurities(write_package(tmp_path, {"core/kernel.py": source})) == []


def test_code_outside_the_core_may_be_impure(tmp_path: Path) -> None:
    assert core_impurities(write_package(tmp_path, {"host/clock.py": "import time", "corely.py": "print()"})) == []
