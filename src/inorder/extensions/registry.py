"""Finds the code for a name: one that is built in, one of an installed plug-in, or `package.module:name`.

Each kind of plug-in has a `Registry`. What is built in comes first, so a plug-in never replaces it by its name alone.
The entry points of installed packages are read once, and only for a name that is not built in. What a plug-in is, and
which version it has, is known without importing it.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from inorder.errors import OperatorError
from inorder.files.package_versions import list_packages
from inorder.host.regular_file import read_regular

from .loading import EntryName, describe_error, load_entry, look_here, parse_entry

GROUP = "inorder."
"""How the names of entry-point groups begin."""
CONTRACTS: dict[str, tuple[str, ...]] = {
    "readers": ("extensions", "read"),
    "providers": ("__call__",),
    "rerankers": ("__call__",),
    "sources": ("identity", "open_filesystem"),
    "targets": ("open_target",),
    "steps": ("__call__",),
}
"""The kinds of plug-ins, and the attributes that one must have. `inorder.plugins` describes them."""
RowT = TypeVar("RowT")


class Plugin(NamedTuple):
    """Code of somebody else, which may not be imported yet."""

    kind: str
    """One of `CONTRACTS`."""
    name: str
    """What the user writes."""
    target: str
    """`package.module:name`."""
    package: str = ""
    """The distribution that has it; empty: it was named as `module:name`."""
    version: str = ""
    """The version of the distribution, or a hash of the source file of the module."""

    @property
    def identity(self) -> str:
        """What results depend on. A part of the hash of settings."""
        return f"{self.target} {self.package or 'source'}/{self.version}"

    def __str__(self) -> str:
        return f"{self.name} of {self.package} {self.version}" if self.package else self.name

    def load(self) -> Any:
        """Import it. Raises OperatorError with the reason if it cannot be used."""
        entry = parse_entry(self.target)
        try:
            if entry is None:
                raise OperatorError(f"its entry point {self.target!r} must be package.module:name")
            found = load_entry(entry, is_installed=bool(self.package))
            missing = [name for name in CONTRACTS[self.kind] if not hasattr(found, name)]
            if missing:
                what = "it cannot be called" if missing == ["__call__"] else f"it has no {', '.join(missing)}"
                raise OperatorError(f"{what}, as inorder.plugins asks for")
        except OperatorError as error:
            raise OperatorError(f"cannot use the plug-in {self} ({self.kind}): {error}") from error
        return found


class Registry(Generic[RowT]):
    """The table of one kind: what is built in, and plug-ins, which `adapt` makes rows of."""

    def __init__(self, kind: str, built_in: Mapping[str, RowT], adapt: Callable[[Plugin], RowT]) -> None:
        self._kind = kind
        self._built_in = built_in
        self._adapt = adapt

    def find(self, name: str) -> RowT | None:
        """Return the row of a name; None: nothing has it. Raises OperatorError if several plug-ins have it."""
        row = self._built_in.get(name)
        if row is None and (plugin := find_plugin(self._kind, name)) is not None:
            return self._adapt(plugin)
        return row

    def split(self, spec: str) -> tuple[str, str]:
        """Split `NAME:DETAIL` or `module:name:DETAIL` into the name and the detail, which may be missing."""
        name, _, detail = spec.partition(":")
        if name in self._built_in or not detail or list_named(self._kind, name):
            return name, detail
        module, attribute, *rest = spec.split(":", 2)
        entry = f"{module}:{attribute}"
        return (name, detail) if parse_entry(entry) is None else (entry, "".join(rest))


def find_plugin(kind: str, name: str) -> Plugin | None:
    """Return the plug-in of a name, which is that of an entry point or `module:name`; None: there is none. Raises
    OperatorError if several packages have it, or if the module is not there."""
    entry = parse_entry(name)
    if entry is not None:
        return Plugin(kind, name, name, version=_hash_module(entry))
    found = list_named(kind, name)
    if len(found) > 1:
        raise OperatorError(f"{describe_conflict(found)}; name one as {found[0].target}, or uninstall one")
    return found[0] if found else None


def describe_conflict(plugins: list[Plugin]) -> str:
    """Say that several plug-ins have one name."""
    packages = " and ".join(f"{each.package} {each.version}" for each in plugins)
    return f"{packages} have a plug-in with the same name {plugins[0].name} ({plugins[0].kind})"


def list_plugins(kind: str) -> list[Plugin]:
    """Return the plug-ins of installed packages, in the order of their names."""
    return sorted(_scan(tuple(sys.path)).get(kind, []))


def list_named(kind: str, name: str) -> list[Plugin]:
    """Return the plug-ins of installed packages that have this name."""
    return [plugin for plugin in list_plugins(kind) if plugin.name == name]


@lru_cache(maxsize=2)
def _scan(path: tuple[str, ...]) -> dict[str, list[Plugin]]:
    """The plug-ins of the packages in these folders, by kind. Only metadata of packages that have some is parsed."""
    found: dict[str, list[Plugin]] = {}
    for metadata in _find_metadata(path):
        from importlib.metadata import PathDistribution

        package = PathDistribution(metadata)
        for each in package.entry_points:
            kind = each.group.removeprefix(GROUP)
            if each.group.startswith(GROUP) and kind in CONTRACTS:
                found.setdefault(kind, []).append(Plugin(kind, each.name, each.value, package.name, package.version))
    return found


def _find_metadata(path: Sequence[str]) -> Iterator[Path]:
    """The folders with the metadata of packages that have plug-ins. Of two that have one name, the first counts. The
    current directory does not count: it may be a repository of somebody else."""
    seen: set[str] = set()
    here = os.path.realpath(os.getcwd())
    for folder in path:
        if os.path.realpath(folder) == here:
            continue
        try:
            packages = list_packages(folder or ".")
        except OSError:
            continue
        for name, entry in packages.items():
            metadata = Path(folder, entry)
            if name not in seen and _has_plugins(metadata / "entry_points.txt"):
                yield metadata
            seen.add(name)


def _has_plugins(path: Path) -> bool:
    try:
        return f"[{GROUP}".encode() in read_regular(path)
    except OSError:
        return False


def _hash_module(entry: EntryName) -> str:
    look_here()
    return _hash_source(entry.module, os.getcwd())


@lru_cache(maxsize=64)
def _hash_source(module: str, folder: str) -> str:
    """A hash of the source file of a module, as this process has seen it first. Raises OperatorError if it cannot be
    found."""
    try:
        spec = find_spec(module)
    except (Exception, SystemExit) as error:  # parent packages are imported
        raise OperatorError(f"cannot import {module}: {describe_error(error)}") from error
    if spec is None or not spec.origin:
        raise OperatorError(
            f"no module named {module}, neither in the current directory nor among the installed packages"
        )
    try:
        return sha256(read_regular(spec.origin)).hexdigest()[:16]
    except OSError as error:
        raise OperatorError(f"cannot read {spec.origin}: {error.strerror}") from error
