"""The package's source as the tidy tests see it: parsed modules and the imports in them, wherever they stand."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "inorder"
PACKAGE_ROOT = Path(__file__).parents[2] / "src" / PACKAGE


@dataclass(frozen=True)
class Import:
    """One imported dotted name, absolute. `from a import b` names `a.b`, which may be a module or something in one."""

    name: str
    module: str
    line: int


@dataclass(frozen=True)
class Module:
    """One parsed source file, named as Python imports it."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    def where(self, line: int) -> str:
        return f"{self.path.name}:{line} ({self.name})"

    def imports(self) -> Iterator[Import]:
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=aliases):
                    yield from (Import(alias.name, alias.name, node.lineno) for alias in aliases)
                case ast.ImportFrom(names=aliases):
                    base = self._base(node)
                    yield from (Import(f"{base}.{alias.name}", base, node.lineno) for alias in aliases)
                case ast.Call(
                    func=ast.Name("import_module") | ast.Attribute(attr="import_module"),
                    args=[ast.Constant(str() as target), *_],
                ):
                    yield Import(target, target, node.lineno)

    def _base(self, node: ast.ImportFrom) -> str:
        if node.level == 0:
            return node.module or ""
        package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
        ancestors = package.split(".")
        kept = ancestors[: len(ancestors) - (node.level - 1)]
        return ".".join([*kept, node.module] if node.module else kept)


@cache
def read_modules(root: Path) -> list[Module]:
    """Parse every module under `root`, which is the folder of the package `inorder` or a stand-in for it."""
    return [_read(path, root) for path in sorted(root.rglob("*.py"))]


def _read(path: Path, root: Path) -> Module:
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    text = path.read_text(encoding="utf-8")
    return Module(".".join([PACKAGE, *parts]), path, ast.parse(text), len(text.splitlines()))


def write_package(root: Path, sources: dict[str, str]) -> Path:
    """Write a fabricated package, so that a checker can be shown to fail."""
    for relative, text in sources.items():
        path = root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
