"""Which source an argument of the command line means, and the name of each.

A source gets its name when it first comes: the last part of its path or address, with `~2`, `~3` if that is taken. The
name never changes, because the ids of all files of the source begin with it. So an argument is compared with the
sources that the library knows before it becomes a new one:

* the same folder, file or address, in whatever spelling, is that source;
* a folder inside a known source is a part of it;
* a folder with the base name of exactly one known source whose own folder is gone is that source, which has moved.

A folder that contains a known source leaves that part to it.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from inorder.errors import OperatorError, require
from inorder.stage.sources import is_address, name_source, quote_id


class KnownSource(NamedTuple):
    """A source as the library has it."""

    name: str
    location: str
    """Absolute path or address."""


class SourcePart(NamedTuple):
    """What a run walks: a source, or a part of one."""

    name: str
    location: str
    below: str = ""
    """The part of the source that is meant, as a path from its root; empty: all of it."""
    moved_from: str = ""
    """Where the source was before; empty: it has not moved."""
    excluded: tuple[str, ...] = ()
    """Folders inside it that are sources of their own."""

    @property
    def prefix(self) -> str:
        """What the ids of the files of this part begin with, or are equal to."""
        return quote_id(f"{self.name}/{self.below}" if self.below else self.name)


def resolve_sources(
    arguments: Sequence[str | Path], known: Iterable[KnownSource], name: str | None = None
) -> list[SourcePart]:
    """Return what these arguments mean, each part once. `name` is for a single argument that is a new source.

    Raises OperatorError for a path that does not exist, and for a name that is taken or cannot be used."""
    sources = {each.name: each.location for each in known}
    require(name is None or len(arguments) == 1, "--as names one source; give exactly one SRC with it")
    parts: dict[tuple[str, str], SourcePart] = {}
    for argument in arguments:
        part = _resolve(os.fspath(argument), sources, name)
        sources[part.name] = part.location
        parts[part.name, part.below] = part
    found = [each for each in parts.values() if not _is_covered(each, parts)]
    return [each._replace(excluded=_find_inner(each, sources)) for each in found]


def _resolve(argument: str, sources: dict[str, str], name: str | None) -> SourcePart:
    location = normalize_location(argument)
    if not is_address(location) and not os.path.lexists(location):
        raise OperatorError(f"no such file or directory: {location}")
    by_location = {_identify(each): known for known, each in sources.items()}
    same = by_location.get(_identify(location))
    if same is not None:
        require(name in (None, same), f"{location} is the source {same!r} already, and a source keeps its name")
        return SourcePart(same, sources[same])
    outer = None if is_address(location) else _find_outer(location, sources)
    if outer is not None:
        require(name is None, f"{location} is a part of the source {outer.name!r}; omit --as")
        return outer
    if name is not None:
        return SourcePart(_require_free(name, location, sources), location)
    moved = None if is_address(location) else _find_moved(location, sources)
    if moved is not None:
        return SourcePart(moved, location, moved_from=sources[moved])
    return SourcePart(_choose_name(name_source(location), sources), location)


def normalize_location(argument: str) -> str:
    """Return the absolute path or the address that an argument means, without a slash at the end."""
    if not is_address(argument):
        return os.path.abspath(argument)
    scheme, mark, rest = argument.partition("://")
    return f"{scheme.lower()}{mark}{rest.rstrip('/') or rest}"


def _identify(location: str) -> str:
    """What is equal for two spellings of one place."""
    return location if is_address(location) else os.path.realpath(location)


def _find_outer(location: str, sources: dict[str, str]) -> SourcePart | None:
    """Return the part of the innermost known source that contains a path; None: no source does."""
    real = os.path.realpath(location)
    roots = {os.path.realpath(each): name for name, each in sources.items() if not is_address(each)}
    for folder in _list_parents(real):
        if folder in roots and os.path.isdir(folder):
            name = roots[folder]
            return SourcePart(name, sources[name], below=os.path.relpath(real, folder))
    return None


def _list_parents(path: str) -> list[str]:
    return [os.fspath(each) for each in Path(path).parents]


def _find_moved(location: str, sources: dict[str, str]) -> str | None:
    """Return the one known source of the same base name whose own folder is gone; None: there is none, or several."""
    base = os.path.basename(location)
    gone = [
        name
        for name, each in sources.items()
        if not is_address(each) and os.path.basename(each) == base and not os.path.lexists(each)
    ]
    return gone[0] if len(gone) == 1 else None


def _find_inner(part: SourcePart, sources: dict[str, str]) -> tuple[str, ...]:
    """Return the folders inside a part that are sources of their own."""
    if is_address(part.location):
        return ()
    root = os.path.join(os.path.realpath(part.location), part.below) if part.below else os.path.realpath(part.location)
    others = (os.path.realpath(each) for name, each in sources.items() if name != part.name and not is_address(each))
    return tuple(sorted(each for each in others if each.startswith(f"{root.rstrip('/')}/")))


def _is_covered(part: SourcePart, parts: dict[tuple[str, str], SourcePart]) -> bool:
    """Whether another part contains this one."""
    if not part.below:
        return False
    folders = ["", *(os.fspath(each) for each in Path(part.below).parents if os.fspath(each) != ".")]
    return any((part.name, folder) in parts for folder in folders)


def _choose_name(base: str, taken: dict[str, str]) -> str:
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}~{number}"
    return name


def _require_free(name: str, location: str, sources: dict[str, str]) -> str:
    require(bool(name) and "/" not in name and name not in (".", ".."), f"a source cannot have the name {name!r}")
    if name in sources:
        raise OperatorError(
            f"the name {name!r} belongs to the source at {sources[name]}; "
            f"if that source has moved to {location}, say so with: inorder sources {name} --path {location}"
        )
    return name
