"""Reads source files for the pages: only those below the roots that runs were given, wherever a link leads.

The caller has found the id in DATA or in the index, so no path comes from a request. Still, a file may have been
replaced by a link, or a folder of its path, at any time. So the real path is resolved first and must lie below a root;
then it is opened folder by folder, without following links. A member of an archive, or an attachment of mail, is
unpacked in a child process.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from urllib.parse import unquote_to_bytes

from inorder.library.opening import read_source_roots
from inorder.stage.sources import is_address

from .isolated import ResultCache, run_isolated
from .options import FILE_BYTES_MAX
from .problems import NotFound, TooLarge

_members = ResultCache()
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_source(data: str, kind: str, item_id: str, bytes_max: int) -> bytes:
    """The content of the source of an item. Raises NotFound if it is gone or lies elsewhere, and TooLarge."""
    roots = read_source_roots(data)
    name, _, below = item_id.partition("/")
    root = roots.get(kind, {}).get(name)
    if root is None:
        raise NotFound(f"the source of {item_id} is not known any more; run `inorder index` or `inorder run` again")
    if is_address(root):
        raise NotFound(f"{item_id} is in the remote source {root}; only sources on this machine are shown")
    local = [each for found in roots.values() for each in found.values() if not is_address(each)]
    allowed = {os.path.realpath(os.fsencode(each)) for each in local}
    path, member = _find_file(os.fsencode(root), below)
    if not member:
        return _read_below(path, allowed, item_id, bytes_max)
    archive = _read_below(path, allowed, item_id, FILE_BYTES_MAX)
    return _unpack(archive, os.fsdecode(os.path.basename(path)), member, item_id, bytes_max)


def _find_file(root: bytes, below: str) -> tuple[bytes, str]:
    """The path of a file below a root; or that of the file that leads there, and the name of the member in it."""
    path, parts = root, below.split("/") if below else []
    for number, part in enumerate(parts):
        if os.path.isfile(path):
            return path, "/".join(parts[number:])
        path = os.path.join(path, unquote_to_bytes(part))
    return path, ""


def _unpack(archive: bytes, file_name: str, member: str, item_id: str, bytes_max: int) -> bytes:
    arguments = json.dumps([file_name, member])
    key = sha256(archive).digest(), member
    content = _members.get(key, lambda: run_isolated("member", arguments, archive))
    if len(content) > bytes_max:
        raise TooLarge(f"{item_id} has {len(content):,} bytes; the limit for this view is {bytes_max:,}")
    return content


def _read_below(path: bytes, allowed: set[bytes], item_id: str, bytes_max: int) -> bytes:
    if b"\x00" in path:
        raise NotFound(f"no such file: {item_id}")
    real = os.path.realpath(path)
    base = next((root for root in allowed if real == root or real.startswith(os.path.join(root, b""))), None)
    if base is None:
        raise NotFound(f"{item_id} is a link that leads out of the sources; it is not shown")
    try:
        with _open_below(base, real) as descriptor:
            return _read_all(descriptor, item_id, bytes_max)
    except OSError as error:
        raise NotFound(f"the source of {item_id} cannot be read: {error.strerror}") from error


@contextmanager
def _open_below(base: bytes, path: bytes) -> Iterator[int]:
    """A descriptor of a file below a folder. No link is followed on the way."""
    descriptor = os.open(base, _FLAGS)
    try:
        for part in _split(base, path):
            following = os.open(part, _FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = following
        yield descriptor
    finally:
        os.close(descriptor)


def _split(base: bytes, path: bytes) -> Iterator[bytes]:
    relative = path[len(base) :].strip(b"/")
    return iter(relative.split(b"/") if relative else ())


def _read_all(descriptor: int, item_id: str, bytes_max: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise NotFound(f"{item_id} is not a file any more")
    if found.st_size > bytes_max:
        raise TooLarge(f"{item_id} has {found.st_size:,} bytes; the limit for this view is {bytes_max:,}")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise TooLarge(f"{item_id} is larger than {bytes_max:,} bytes")
    return content
