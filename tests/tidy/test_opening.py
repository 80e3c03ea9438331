"""A file is opened through `host/regular_file.py` if it was found, and through `host/named_file.py` if a user names it:
a FIFO in its place must not hang a run."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE_ROOT, Module, read_modules, write_package

DOORS = {"inorder.host.regular_file", "inorder.host.named_file"}
OWN_FILES = {
    "inorder.code.grammars",
    "inorder.index.lexical.languages",
    "inorder.report.page.render",
    "inorder.serve.app",
}
"""What reads files that come with the package."""
OTHERS = {
    "inorder.serve.sources": "follows no link, and does not wait",
    "inorder.sources.visible": "reads from a store",
}
ALLOWED = DOORS | OWN_FILES | OTHERS.keys()
READERS = {"read_bytes", "read_text"}
HARMLESS = ("opener=open_descriptor", "closefd=False", "O_DIRECTORY", "os.devnull", "/proc/")


def is_harmless(call: ast.Call) -> bool:
    """Whether a call goes through the door for files that are found, or opens what cannot be a FIFO: a descriptor, a
    folder, the null device, or a file of the kernel."""
    text = ast.unparse(call)
    return any(sign in text for sign in HARMLESS)


def find_openings(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        match node:
            case ast.Call() if is_harmless(node):
                continue
            case ast.Call(func=ast.Name("open")) | ast.Call(func=ast.Attribute(ast.Name("os" | "io"), "open")):
                yield f"{module.where(node.lineno)}: opens a file"
            case ast.Call(func=ast.Attribute(attr="open"), args=[ast.Constant(str())]):
                yield f"{module.where(node.lineno)}: opens a file"
            case ast.Call(func=ast.Attribute(attr=name)) if name in READERS:
                yield f"{module.where(node.lineno)}: {name}()"


def blind_openings(root: Path) -> list[str]:
    checked = [module for module in read_modules(root) if module.name not in ALLOWED]
    return [opening for module in checked for opening in find_openings(module)]


@pytest.mark.slow
@pytest.mark.req("ROB-1")
def test_files_are_opened_through_two_doors() -> None:
    assert blind_openings(PACKAGE_ROOT) == []


def test_every_exception_is_needed() -> None:
    needed = {module.name for module in read_modules(PACKAGE_ROOT) if any(find_openings(module))}
    assert needed == ALLOWED


@pytest.mark.parametrize(
    "source",
    [
        "with open(path, 'rb') as file:\n    pass",
        "import os\ndescriptor = os.open(path, os.O_RDONLY)",
        "text = Path(path).read_text()",
        "content = (folder / 'name').read_bytes()",
        "with path.open('rb') as file:\n    pass",
    ],
)
def test_a_file_that_is_opened_otherwise_is_found(tmp_path: Path, source: str) -> None:
    assert len(blind_openings(write_package(tmp_path, {"files/heads.py": source}))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "content = read_regular(path)",
        "file = open(number, 'w', closefd=False)",
        "descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)",
        "text = Path(f'/proc/{pid}/stat').read_text()",
        "file = filesystem.open(path)",
    ],
)
def test_what_cannot_wait_is_let_through(tmp_path: Path, source: str) -> None:
    assert blind_openings(write_package(tmp_path, {"files/heads.py": source})) == []
