"""The protocols of remote sources, and what tells that an object has changed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from inorder.errors import OperatorError
from inorder.extensions.registry import Plugin, Registry

RACY_S = 60.0
"""How long after its last change an object is racy where only a time in seconds tells its versions apart: another
change could follow within the same second. A minute allows for the clock of the server."""
_LISTED = "; listed="


class RemoteProtocol(NamedTuple):
    """One row of the table."""

    identity: tuple[str, ...]
    """The fields of a listing that identify a version of an object, besides its size. Those that are there count."""
    times: tuple[str, ...] = ()
    """Those of them that are times in seconds: alone they do not tell two changes within a second apart."""
    plugin: Plugin | None = None
    """What opens the filesystem; None: fsspec does."""


class SourcePlugin(Protocol):
    """Opens a remote source. A plug-in of the kind `sources` is one; its name is the scheme of addresses.

    The contract is that of the sources that are built in, and will change: a filesystem as fsspec has them, of which
    `info(path)`, `ls(path, detail)`, `cat_file(path, start, end)` and `open(path, "rb")` are called.

    >>> class LogBook:
    ...     identity = ("version",)
    ...     def open_filesystem(self):
    ...         import fsspec
    ...         return fsspec.filesystem("memory")
    >>> LogBook().identity
    ('version',)
    """

    @property
    def identity(self) -> Sequence[str]:
        """The fields of an entry of `ls` that identify a version of an object, besides its size."""
        ...

    def open_filesystem(self) -> Any:
        """Return the filesystem. Called once per process."""
        ...


PROTOCOLS: dict[str, RemoteProtocol] = {
    "s3": RemoteProtocol(("ETag", "VersionId")),
    "gs": RemoteProtocol(("generation",)),
    "az": RemoteProtocol(("etag",)),
    "http": RemoteProtocol(("ETag", "Last-Modified"), ("Last-Modified",)),
    "https": RemoteProtocol(("ETag", "Last-Modified"), ("Last-Modified",)),
    "sftp": RemoteProtocol(("mtime",), ("mtime",)),
    "zip": RemoteProtocol(("CRC", "date_time")),
    "memory": RemoteProtocol(("created",)),
}
"""The protocols that are built in."""


def _adapt(plugin: Plugin) -> RemoteProtocol:
    return RemoteProtocol(tuple(plugin.load().identity), plugin=plugin)


TABLE = Registry("sources", PROTOCOLS, _adapt)
"""All protocols: those above, and plug-ins."""
ALIASES = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az", "ssh": "sftp"}
"""Other names of some of them."""


def find_protocol(name: str) -> RemoteProtocol:
    """Return the row of a protocol. Raises OperatorError if there is none."""
    found = None if name == "file" else TABLE.find(name)
    if found is None:
        known = ", ".join(sorted({*PROTOCOLS, *ALIASES, "file"}))
        raise OperatorError(
            f"unknown protocol {name!r} of a source; supported: {known}, and plug-ins (see `inorder plugins`)"
        )
    return found


def make_fingerprint(protocol: str, info: Mapping[str, Any], now_s: float) -> str:
    """What identifies this version of an object, from its entry in a listing; empty if the store has nothing usable.

    An object that only a time identifies, and that was changed shortly before `now_s`, gets a fingerprint of its own
    in every listing, so that a later run reads it again.
    """
    rules = find_protocol(protocol)
    found = {name: _normalize(info[name]) for name in rules.identity if info.get(name) not in (None, "", "null")}
    if not found:
        return ""
    text = "; ".join([*(f"{name}={value}" for name, value in found.items()), f"size={info.get('size')}"])
    if rules.plugin is not None:
        text += f"; plugin={rules.plugin.identity}"
    is_weak = all(name in rules.times for name in found)
    if is_weak and any(_is_recent(info[name], now_s) for name in found):
        text += f"{_LISTED}{now_s!r}"
    return text


def is_same_version(fingerprint: str, found: str) -> bool:
    """Whether two fingerprints of an object are of the same version, listed at different times."""
    return fingerprint.partition(_LISTED)[0] == found.partition(_LISTED)[0]


def _normalize(value: Any) -> str:
    return str(value.timestamp() if isinstance(value, datetime) else value)


def _is_recent(value: Any, now_s: float) -> bool:
    if isinstance(value, str):
        from email.utils import parsedate_to_datetime  # slow to import

        try:
            value = parsedate_to_datetime(value)
        except ValueError:
            return True
    return bool(now_s < value.timestamp() + RACY_S)
