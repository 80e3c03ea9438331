"""Which source an argument of the command line means, and the name of each.

A source gets its name when it first comes: the last part of its path or address, with `~2`, `~3` if that is taken. The
name never changes, because the ids of all files of the source begin with it. So an argument is compared with the
sources that the library knows before it becomes a new one:

* the same folder, file or address, in whatever spelling, is that source;
* a folder inside a known source is a part of it;
* a folder with the base name of exactly one known source whose own folder is gone is that source, which has moved.

A folder that contains a known source leaves that part to it.

A retry looks at the files that have failed, and at nothing else. Each is a part of its source: if it is gone or
excluded now, it is removed; if it was mended, it is read. For a member of an archive that part is the archive, and for
a folder that could not be listed the folder. Of a remote source the listing is read, and only the objects that have
failed are considered.
"""

import os
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from inorder.errors import OperatorError, require
from inorder.host.credentials import hide_credentials
from inorder.host.spelling import find_spelled, read_spelling
from inorder.library.reader import LibraryReader
from inorder.stage.data_layout import is_reserved
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
    only: frozenset[str] | None = None
    """The ids of the objects of a remote source that are meant; None: all of them."""

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
        part = _resolve(find_spelled(os.fspath(argument)), sources, name)
        sources[part.name] = part.location
        parts[part.name, part.below] = part
    found = [each for each in parts.values() if not _is_covered(each, parts)]
    return [each._replace(excluded=find_inner_sources(each, sources)) for each in found]


def find_source(name: str, known: Sequence[KnownSource]) -> KnownSource:
    """Return the source of a name. Raises OperatorError if there is none."""
    found = next((each for each in known if each.name in (name, read_spelling(name))), None)
    if found is None:
        names = ", ".join(each.name for each in known) or "none"
        raise OperatorError(f"no source has the name '{name}'; sources: {names}")
    return found


def narrow_parts(parts: Sequence[SourcePart], paths: Iterable[str], rule_files: Container[str]) -> list[SourcePart]:
    """Return the parts of these parts that have to be compared because something has changed at these paths. What
    changes at a file whose name is in `rule_files` changes its folder. A path that lies in none of the parts is left
    out."""
    found: dict[tuple[str, str], SourcePart] = {}
    for path in paths:
        folder, name = os.path.split(path)
        part = _find_narrow(parts, folder if name in rule_files else path)
        if part is not None:
            found[part.name, part.below] = part
    return [each for each in found.values() if not _is_covered(each, found)]


def _find_narrow(parts: Sequence[SourcePart], path: str) -> SourcePart | None:
    folder, name = os.path.split(path)
    real = os.path.join(os.path.realpath(folder), name)
    inside = [each for each in parts if not is_address(each.location) and is_inside(real, _find_root(each))]
    if not inside:
        return None
    part = max(inside, key=lambda each: len(_find_root(each)))
    if any(is_inside(real, each) for each in part.excluded):
        return None
    below = os.path.relpath(real, os.path.realpath(part.location))
    return part._replace(below="" if below == "." else below)


def find_part(path: str, known: Iterable[KnownSource]) -> SourcePart | None:
    """Return the part of a source that is the file or folder at a path, which need not exist, or the object at an
    address; None: it lies in no source."""
    sources = {each.name: each.location for each in known}
    if is_address(path):
        location = normalize_location(path)
        found = [name for name, each in sources.items() if is_address(each) and is_inside(location, each)]
        return SourcePart(found[0], sources[found[0]], location.removeprefix(sources[found[0]])[1:]) if found else None
    parts = [SourcePart(name, each, excluded=()) for name, each in sources.items()]
    return _find_narrow(parts, os.path.abspath(path))


def find_place(part: SourcePart) -> str:
    """Return what puts parts in the order of the ids of their files: a folder sorts as its name with a slash."""
    is_folder = is_address(part.location) or os.path.isdir(os.path.join(part.location, part.below))
    return f"{part.prefix}/" if is_folder else part.prefix


def _find_root(part: SourcePart) -> str:
    root = os.path.realpath(part.location)
    return os.path.join(root, part.below) if part.below else root


def is_inside(path: str, folder: str) -> bool:
    """Whether a path or address is a folder, or lies in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def is_own(part: SourcePart, data: str) -> bool:
    """Whether a part is DATA, or lies in what the runner keeps there. Outputs of stages lie in DATA, and are files as
    others are."""
    if is_address(part.location):
        return False
    path, place = os.path.realpath(os.path.join(part.location, part.below)), os.path.realpath(data)
    return path == place or (is_inside(path, place) and is_reserved(os.path.relpath(path, place)))


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
    """Return the absolute path or the address that an argument means, without credentials and a slash at the end."""
    if not is_address(argument):
        return os.path.abspath(argument)
    scheme, mark, rest = hide_credentials(argument).partition("://")
    scheme = scheme if ":" in scheme else scheme.lower()  # `module:name`
    return f"{scheme}{mark}{rest.rstrip('/') or rest}"


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


def find_inner_sources(part: SourcePart, sources: dict[str, str]) -> tuple[str, ...]:
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


# ---- Files that have failed


def find_failed_parts(library: LibraryReader) -> list[SourcePart]:
    """Return the parts of sources that have failed files, each part once."""
    sources = {quote_id(each.name): KnownSource(each.name, each.path) for each in library.list_sources()}
    roots = {each.name: each.location for each in sources.values()}
    parts: dict[tuple[str, str], SourcePart] = {}
    remote: dict[str, set[str]] = {}
    for item_id in sorted({_find_outermost(library, failure.item_id) for failure in library.list_failures()}):
        name, _, below = item_id.partition("/")
        source = sources.get(name)
        if source is None:
            continue
        if is_address(source.location):
            remote.setdefault(name, set()).add(item_id)
        else:
            path = os.fsdecode(unquote_to_bytes(below))
            parts[source.name, path] = SourcePart(source.name, source.location, below=path)
    found = [each._replace(excluded=find_inner_sources(each, roots)) for each in parts.values()]
    for name, ids in remote.items():
        found.append(SourcePart(sources[name].name, sources[name].location, only=frozenset(ids)))
    return [each for each in found if not _is_below_another(each, parts)]


def _find_outermost(library: LibraryReader, item_id: str) -> str:
    """Return the id of the file that a file is in: the archive of a member, or the file itself."""
    known = library.get_file(item_id)
    while known is not None and known.parent:
        item_id = known.parent
        known = library.get_file(item_id)
    return item_id


def _is_below_another(part: SourcePart, parts: dict[tuple[str, str], SourcePart]) -> bool:
    """Whether a part lies in a folder that is a part itself."""
    place = part.below
    while place:
        place = os.path.dirname(place)
        if (part.name, place) in parts and place != part.below:
            return True
    return False
