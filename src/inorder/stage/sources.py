"""Sources, and the ids of the items below them.

An item's id is its path below its root, with the name of the root in front: `docs/a/b.pdf`. So the same file under two
roots is two items, and adding a root changes no id. A root is a local path, or the address of a remote source.
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from inorder.errors import OperatorError

IGNORE_FILE = ".inorderignore"
"""Lists paths to leave out, in the syntax of `.gitignore`."""


_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*)://")
"""A protocol, or the plug-in `module:name`."""


def is_address(source: str | Path) -> bool:
    """Whether a source is the address of a remote one, such as `s3://bucket/prefix`, and not a path."""
    return isinstance(source, str) and _SCHEME.match(source) is not None


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
