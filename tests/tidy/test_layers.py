"""The layer rule: which part of the package may import which."""

from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE, PACKAGE_ROOT, Import, read_modules, write_package

FACE = "(package)"  # src/inorder/__init__.py: the public names

BELOW_RUNTIME = {"core", "errors", "host", "journal", "lanes", "sinks", "engines"}
BELOW_STAGE = BELOW_RUNTIME | {"runtime", "iteration", "version", "lazy_names"}
BELOW_JOBS = BELOW_STAGE | {"stage", "files", "extensions", "models"}
LIBRARY = BELOW_JOBS | {"sources", "documents", "code", "index", "library", "dataset", "report", "targets", "watch"}

MAY_IMPORT: dict[str, set[str]] = {
    "version": set(),
    "lazy_names": set(),
    "errors": set(),
    "core": {"errors"},
    "host": {"errors"},
    "journal": {"core", "errors"},
    "lanes": {"core", "errors"},
    "sinks": {"core", "errors", "host", "lazy_names"},
    "engines": {"core", "errors", "host", "lanes", "version"},
    "runtime": BELOW_RUNTIME,
    "iteration": BELOW_RUNTIME | {"runtime"},
    "executor": BELOW_RUNTIME | {"runtime", "iteration"},
    "files": {"errors", "host"},
    "extensions": {"errors", "files", "host"},
    "models": {"engines", "errors", "host", "lanes", "sinks"},
    "stage": BELOW_STAGE,
    "sources": BELOW_JOBS,
    "documents": BELOW_JOBS | {"sources"},
    "code": BELOW_JOBS | {"sources"},
    "index": BELOW_JOBS | {"sources", "documents", "code"},
    "library": {"code", "core", "documents", "errors", "files", "host", "index", "runtime", "sinks", "stage"},
    "dataset": BELOW_JOBS | {"documents", "index", "library"},
    "adapters": {FACE, "dataset", "index"},
    "watch": BELOW_JOBS | {"sources"},
    "report": BELOW_JOBS | {"documents", "index", "library", "dataset", "watch", "pipeline"},
    "targets": BELOW_JOBS | {"documents", "index", "library"},
    "pipeline": (LIBRARY - {"report"}) | {"executor"},
    FACE: LIBRARY | {"executor"},
    "serve": LIBRARY | {"pipeline"},
    "cli": LIBRARY | {FACE, "pipeline", "serve"},
    "__main__": {"cli"},
    "sim": LIBRARY | {FACE},
    "plugins": {"documents", "errors", "lazy_names", "sinks", "sources", "targets"},
    "testing": {"documents", "lazy_names", "models", "sim", "sinks", "sources", "targets"},
}


def layer_of(module_name: str) -> str:
    parts = module_name.split(".")
    return parts[1] if len(parts) > 1 else FACE


def imported_layer(imported: Import) -> str | None:
    """The layer an import reaches into, or None when it leaves the package."""
    parts = imported.name.split(".")
    if parts[0] != PACKAGE:
        return None
    from_face = imported.module == PACKAGE
    if from_face and (len(parts) == 1 or parts[1] not in MAY_IMPORT):
        return FACE
    return parts[1]


def layer_violations(root: Path) -> list[str]:
    violations = []
    for module in read_modules(root):
        layer = layer_of(module.name)
        if layer not in MAY_IMPORT:
            violations.append(f"{module.name}: {layer} is not a layer of the table")
            continue
        for imported in module.imports():
            target = imported_layer(imported)
            if target not in {None, layer, *MAY_IMPORT[layer]}:
                violations.append(f"{module.where(imported.line)}: {layer} must not import {target}")
    return violations


@pytest.mark.slow
def test_the_package_keeps_its_layers() -> None:
    assert read_modules(PACKAGE_ROOT)
    assert layer_violations(PACKAGE_ROOT) == []


@pytest.mark.parametrize("layer", [layer for layer in MAY_IMPORT if layer not in {"sim", "testing"}])
def test_only_the_simulator_and_the_test_tools_may_import_the_simulator(layer: str) -> None:
    assert "sim" not in MAY_IMPORT[layer]


def test_the_table_has_no_cycle() -> None:
    settled: set[str] = set()
    while ready := {layer for layer, below in MAY_IMPORT.items() if layer not in settled and below <= settled}:
        settled |= ready
    assert settled == MAY_IMPORT.keys()


@pytest.mark.parametrize(
    ("relative", "source", "complaint"),
    [
        ("errors.py", "import inorder.core.retry", "errors must not import core"),
        ("core/kernel.py", "from ..runtime import Runtime", "core must not import runtime"),
        ("core/__init__.py", "from .. import journal", "core must not import journal"),
        ("core/deep/leaf.py", "from ...host.clock import Clock", "core must not import host"),
        ("journal/writer.py", "def write():\n    from inorder import host", "journal must not import host"),
        (
            "engines/ray/engine.py",
            "import importlib\nimportlib.import_module('inorder.sim')",
            "engines must not import sim",
        ),
        ("documents/model.py", "from inorder.code import parse", "documents must not import code"),
        ("stage/run.py", "from inorder import imap", "stage must not import (package)"),
        ("runtime.py", "if True:\n    import inorder.stage.run", "runtime must not import stage"),
        ("host/clock.py", "from inorder.core import states", "host must not import core"),
        ("__init__.py", "from .sim import World", "(package) must not import sim"),
        ("helpers.py", "", "helpers is not a layer"),
    ],
)
def test_an_import_against_the_layers_is_found(tmp_path: Path, relative: str, source: str, complaint: str) -> None:
    [violation] = layer_violations(write_package(tmp_path, {relative: source}))
    assert complaint in violation


@pytest.mark.parametrize(
    ("relative", "source"),
    [
        ("core/kernel.py", "import heapq\nfrom . import ledger\nfrom .states import State\nfrom inorder.core import x"),
        (
            "engines/threads.py",
            "from inorder.core.events import Event\nfrom ..host import clock\nimport inorder.errors",
        ),
        ("runtime.py", "from .core import kernel\nfrom .engines.base import Engine"),
        ("sim/world.py", "import inorder\nfrom inorder import imap\nfrom inorder.sim import clock"),
        ("__init__.py", "from .runtime import imap\nfrom .errors import ItemError"),
    ],
)
def test_an_import_along_the_layers_is_let_through(tmp_path: Path, relative: str, source: str) -> None:
    assert layer_violations(write_package(tmp_path, {relative: source})) == []


PAIRS_MAX = 20
"""Pairs of folders that import each other. A ceiling that may only fall."""
CLEAN = ("inorder.library", "inorder.pipeline")
"""Folders that no other folder imports which they import."""


def mutual_imports(root: Path) -> list[tuple[str, str]]:
    """Pairs of folders, subfolders included, of which each has a module that imports one of the other."""
    modules = read_modules(root)
    names = {module.name for module in modules}
    folders = {module.name: _folder_of(module.name, names) for module in modules}
    edges = set()
    for module in modules:
        for imported in module.imports():
            target = next((name for name in (imported.name, imported.module) if name in folders), None)
            edge = (folders[module.name], folders.get(target or "", PACKAGE))
            if PACKAGE not in edge and edge[0] != edge[1]:
                edges.add(edge)
    return sorted({(min(edge), max(edge)) for edge in edges if edge[::-1] in edges})


def _folder_of(name: str, names: set[str]) -> str:
    is_package = any(each.startswith(f"{name}.") for each in names)
    return name if is_package else name.rpartition(".")[0]


@pytest.mark.slow
def test_folders_that_import_each_other_become_fewer() -> None:
    found = mutual_imports(PACKAGE_ROOT)
    assert len(found) <= PAIRS_MAX, found
    assert [pair for pair in found if any(each.startswith(CLEAN) for each in pair)] == []


def test_folders_that_import_each_other_are_found(tmp_path: Path) -> None:
    sources = {
        "__init__.py": "",
        "a/__init__.py": "",
        "a/b/__init__.py": "",
        "a/b/c.py": "from inorder.a.d import x",
        "a/d.py": "from inorder.a.b.c import y",
    }
    assert mutual_imports(write_package(tmp_path, sources)) == [("inorder.a", "inorder.a.b")]
