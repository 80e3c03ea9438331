"""The protocols of remote sources, and what tells that an object has changed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

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
"""The supported protocols."""
ALIASES = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az", "ssh": "sftp"}
"""Other names of some of them."""


def make_fingerprint(protocol: str, info: Mapping[str, Any], now_s: float) -> str:
    """What identifies this version of an object, from its entry in a listing; empty if the store has nothing usable.

    An object that only a time identifies, and that was changed shortly before `now_s`, gets a fingerprint of its own
    in every listing, so that a later run reads it again.
    """
    rules = PROTOCOLS[protocol]
    found = {name: _normalize(info[name]) for name in rules.identity if info.get(name) not in (None, "", "null")}
    if not found:
        return ""
    text = "; ".join([*(f"{name}={value}" for name, value in found.items()), f"size={info.get('size')}"])
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
