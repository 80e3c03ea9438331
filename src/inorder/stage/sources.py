"""Sources: the roots of a plan, and the ids of the items below them.

An item's id is its path below its root, with the name of the root in front: `docs/a/b.pdf`. So the same file under two
roots is two items, and adding a root changes no id. A root is a local path, or the address of a remote source.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from inorder.errors import OperatorError

IGNORE_FILE = ".inorderignore"
"""Lists paths to leave out, in the syntax of `.gitignore`."""


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(source: str | Path) -> bool:
    """Whether a source is the address of a remote one, such as `s3://bucket/prefix`, and not a path."""
    return isinstance(source, str) and _SCHEME.match(source) is not None


class Roots:
    """Sources by unique name: files, folders, and addresses."""

    def __init__(self, sources: Sequence[str | Path]) -> None:
        self.paths: dict[str, str] = {}
        """Absolute path or address by name."""
        self.listings: dict[str, Any] = {}
        """Listings of remote sources by address: one plan looks at the same listing throughout."""
        self._unreadable: set[str] = set()
        """The ids of folders whose entries are not known."""
        for source in sources:
            path = os.fspath(source)
            path = path if is_address(path) else os.path.abspath(path)
            if path in self.paths.values():
                continue
            base = name_source(path)
            name, number = base, 1
            while name in self.paths:
                number += 1
                name = f"{base}~{number}"
            self.paths[name] = path

    def has(self, item_id: str) -> bool:
        """Whether an item with this id would be below one of the roots."""
        names = map(quote_id, self.paths)
        return any(item_id == name or item_id.startswith((f"{name}/", f"{name}#")) for name in names)

    def add_unreadable(self, item_id: str) -> None:
        """Note that the folder with this id cannot be read."""
        self._unreadable.add(item_id)

    def may_be_unread(self, item_id: str) -> bool:
        """Whether an item lies below a folder that could not be read, and may still exist."""
        return any(item_id.startswith(f"{folder}/") for folder in self._unreadable)

    @property
    def are_read(self) -> bool:
        """Whether every folder could be read."""
        return not self._unreadable


def name_source(location: str) -> str:
    """Return the name that an absolute path or an address suggests: its last part."""
    return _name_address(location) if is_address(location) else os.path.basename(location) or "root"


def require_root(path: str) -> None:
    """Raise OperatorError if a local source is not there. One that vanishes while it is listed would otherwise look as
    if all its files were deleted."""
    if not os.path.lexists(path):
        raise OperatorError(f"no such file or directory: {path}")


def quote_key(key: str) -> str:
    """Make the key of an object safe as a part of an id: like `quote_id`, and parts that have a meaning in paths, `.`,
    `..` and the empty one, become `%2E`, `%2E%2E` and `%2F`."""
    return "/".join(_SPECIAL_PARTS.get(part) or quote_id(part) for part in key.split("/"))


def join_address(address: str, key: str) -> str:
    """The address of what has this path below a remote source."""
    place, chain, archive = address.partition("::")
    return f"{place.rstrip('/') if place.partition('://')[2] else place}/{key}{chain}{archive}".replace(":///", "://")


_SPECIAL_PARTS = {"": "%2F", ".": "%2E", "..": "%2E%2E"}


def _name_address(address: str) -> str:
    """The last part of an address: of its path, or else of its archive or host."""
    scheme, _, rest = address.partition("://")
    rest, _, archive = rest.partition("::")
    if scheme in ("http", "https"):
        rest = unquote(re.split(r"[?#]", rest, maxsplit=1)[0])
    parts = [part for part in rest.split("/") if part not in _SPECIAL_PARTS]
    return parts[-1] if parts else archive.rstrip("/").rpartition("/")[2] or scheme


def quote_id(item_id: str) -> str:
    """Make an id printable and safe as a file name: undecodable bytes, control characters and `%` become `%XX`."""
    if item_id.isprintable() and "%" not in item_id:
        return item_id
    return "".join(_quote_character(character) for character in item_id)


def _quote_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # an undecodable byte, as `os.fsdecode` represents it
        return f"%{code - 0xDC00:02X}"
    is_bidi_mark = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x61C)
    if code < 0x20 or code == 0x7F or character == "%" or is_bidi_mark or 0xD800 <= code <= 0xDFFF:
        return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
    return character
