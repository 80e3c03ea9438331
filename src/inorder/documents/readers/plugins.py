"""Which files readers of other packages read.

An installed plug-in reads the types that it names, if no built-in reader has them. One that the user names with
`--reader` reads all its types.
"""

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from inorder.documents.old_office import lacks_extra
from inorder.errors import OperatorError
from inorder.extensions.registry import Plugin, describe_conflict, list_plugins

from .registry import DOCLING, KIND, NATIVE, NOT_READERS, READERS, TABLE, find_reader
from .sniff import EXTENSIONS, get_extension


class InstalledReaders(NamedTuple):
    """The readers of installed packages."""

    by_extension: Mapping[str, str]
    """The name of the reader of each type."""
    problems: list[str]
    """Those that cannot be used, and why."""


def is_plugin_kind(kind: str, reader: str) -> bool:
    """Whether files of this kind are read by a plug-in: then it is the name of that. `module:name` is one only if it is
    the reader that the user has named: the kind may come from DATA of somebody else."""
    if kind in READERS or kind in NOT_READERS:
        return False
    return kind == reader or (":" not in kind and TABLE.find(kind) is not None)


def find_named(name: str, reader: str) -> str:
    """Return the kind of a file if the reader that the user has named is a plug-in and reads it; otherwise empty."""
    if reader in (NATIVE, DOCLING):
        return ""
    return reader if get_extension(name) in list_extensions(require_plugin(reader)) else ""


def find_installed(name: str) -> str:
    """Return the kind of a file if an installed plug-in reads its type, and no reader that is built in; otherwise
    empty."""
    extension = get_extension(name)
    built_in = EXTENSIONS.get(extension)
    if not extension or (built_in and not lacks_extra(built_in)):
        return ""
    return _load_all().by_extension.get(extension, "")


def require_plugin(name: str) -> Plugin:
    """Return the plug-in that `--reader` names. Raises OperatorError if there is none."""
    found = find_reader(name)
    if not isinstance(found, Plugin):
        raise OperatorError(f"--reader {name}: the built-in reader of {name} is a part of {NATIVE}")
    return found


def list_problems() -> list[str]:
    """Return why installed readers cannot be used, if any was looked for."""
    return _load_installed(tuple(sys.path)).problems if _load_installed.cache_info().currsize else []


def list_extensions(plugin: Plugin) -> frozenset[str]:
    """Return the types that a plug-in reads. Raises OperatorError if it cannot be used."""
    found = plugin.load().extensions
    if isinstance(found, str) or not all(isinstance(each, str) for each in found):
        raise OperatorError(f"cannot use the plug-in {plugin} ({KIND}): its extensions must be texts such as 'lamp'")
    return frozenset(each.lower().removeprefix(".") for each in found)


def _load_all() -> InstalledReaders:
    return _load_installed(tuple(sys.path))


@lru_cache(maxsize=1)
def _load_installed(path: tuple[str, ...]) -> InstalledReaders:
    """Import all of them. One that is broken costs nothing else."""
    found: dict[str, list[Plugin]] = {}
    problems: list[str] = []
    plugins = list_plugins(KIND)
    for plugin in plugins:
        same = [each for each in plugins if each.name == plugin.name]
        if plugin.name in READERS or plugin.name in NOT_READERS:
            problems.append(f"the plug-in {plugin} ({KIND}) has a built-in name; name it as {plugin.target}")
        elif len(same) > 1:
            problems += [describe_conflict(same)] if plugin == same[0] else []
        else:
            try:
                for extension in list_extensions(plugin):
                    found.setdefault(extension, []).append(plugin)
            except OperatorError as error:
                problems.append(str(error))
    for extension, readers in found.items():
        if len(readers) > 1 and extension not in EXTENSIONS:
            problems.append(f"{' and '.join(map(str, readers))} read .{extension}; choose one with --reader")
    return InstalledReaders({each: few[0].name for each, few in found.items() if len(few) == 1}, problems)
