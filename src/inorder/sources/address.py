"""Addresses of remote sources, as the user writes them: `s3://bucket/prefix`, `https://host/file.pdf`.

An address names an object, and everything below it as a folder. Credentials come from the environment that the
protocol's own tools read. Those in a URL are taken out where it is read (`inorder.host.credentials`).
"""

import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from inorder.errors import OperatorError, require
from inorder.files.addresses import StoreAddress
from inorder.files.optional_deps import require_module
from inorder.host.credentials import hide_credentials, redact
from inorder.stage.sources import is_address, quote_id

from .protocols import ALIASES, PROTOCOLS, find_protocol

_CHAIN = "::"
_WEB = ("http://", "https://")


class Address(NamedTuple):
    """A parsed address."""

    protocol: str
    location: str
    """What the store is opened with: the host, or the address of the archive; empty: nothing."""
    path: str
    """The path in the store. A slash at its end says that only what is below it counts."""

    @property
    def base(self) -> str:
        """How the paths of all objects below it begin."""
        return self.path if not self.path or self.path.endswith("/") else f"{self.path}/"

    def format(self, path: str) -> str:
        """The address of an object with this path in the same store, for messages and manifests. Control characters and
        undecodable bytes are written as `%XX`."""
        path = path if path.isprintable() else "".join(map(_escape, path))
        if self.protocol in ("http", "https"):
            return path
        if self.protocol == "zip":
            return f"zip://{path}{_CHAIN}{self.location}"
        host = f"{self.location}/" if self.location else ""
        return f"{self.protocol}://{host}{path.lstrip('/') if host else path.removeprefix('/')}"


def resolve_source(source: str | Path) -> str | Path:
    """The absolute path of a local source, or the address of a remote one, without credentials. Raises `OperatorError`
    if the address cannot be used, or a package that it needs is not installed."""
    text = os.fspath(source)
    if not is_address(text):
        return Path(text).absolute()
    if text.startswith("file://"):
        return Path(unquote(urlsplit(text).path)).absolute()
    if text.lower().startswith(_WEB):
        text = hide_credentials(text)
    address = parse_address(text)
    require_packages(address)
    return _make_absolute(text, address)


def parse_address(text: str) -> Address:
    """Parse an address. Raises `OperatorError` if it is not one, or contains credentials."""
    scheme, _, rest = text.partition("://")
    protocol = ALIASES.get(scheme, scheme)
    find_protocol(protocol)
    _refuse_credentials(text, scheme)
    if protocol == "zip":
        return _parse_archive(rest)
    require(_CHAIN not in rest, f"cannot read {text}: only an archive (zip://...) can be chained with ::")
    if protocol in ("http", "https"):
        require(bool(urlsplit(text).hostname), f"the address {text} has no host")
        return Address(protocol, urlsplit(text).hostname or "", text)
    if protocol == "sftp":
        host, _, path = rest.partition("/")
        require(bool(host), f"the address {text} has no host")
        return Address(protocol, host, f"/{path}")
    if protocol == "memory":
        return Address(protocol, "", f"/{rest.lstrip('/')}")
    bucket = rest.partition("/")[0]
    require(bool(bucket), f"the address {text} has no bucket")
    return Address(protocol, "", rest if "/" in rest else f"{rest}/")


def require_packages(address: Address) -> None:
    """Require the packages of the protocol. Raises `OperatorError` with the command that installs a missing one."""
    if address.protocol not in PROTOCOLS:
        return  # a plug-in, which says itself what it needs
    needs = StoreAddress(address.protocol, "").needs
    for package in ("fsspec", needs.package):
        require_module(package, by=f"a source with the protocol {address.protocol}", extra=needs.extra)
    if address.protocol == "zip" and is_address(address.location):
        require_packages(parse_address(address.location))


def _parse_archive(rest: str) -> Address:
    """`zip://FOLDER::ARCHIVE`, or `zip://ARCHIVE` for all of it."""
    folder, chain, archive = rest.partition(_CHAIN)
    if not chain:
        folder, archive = "", rest
    require(bool(archive), "the address zip:// has no archive; write zip://FOLDER::ARCHIVE")
    if is_address(archive) and not archive.startswith("file://"):
        parse_address(archive)
    else:
        archive = os.path.abspath(unquote(archive.removeprefix("file://")))
    return Address("zip", archive, folder.lstrip("/"))


def _make_absolute(text: str, address: Address) -> str:
    """The address with the absolute path of a local archive."""
    return address.format(address.path) if address.protocol == "zip" else text


def _escape(character: str) -> str:
    return character if character == "%" else quote_id(character)


def _refuse_credentials(text: str, scheme: str) -> None:
    """Raises without a word of what could be a secret."""
    if redact(text) != text:
        raise OperatorError(
            f"a source must not contain credentials: remove user:password@, or the key, from the {scheme}:// address; "
            "they are taken from the environment; behind the host write @ as %40"
        )
    if text.startswith(_WEB):
        try:
            urlsplit(text)
        except ValueError:
            raise OperatorError(f"the {scheme}:// source is not a valid address: its host cannot be read") from None
