"""Addresses of object stores and servers, such as `s3://bucket/prefix`, and the packages that each protocol needs.

They are opened through fsspec. Credentials come from the environment, as each protocol's own tools take them. An
address with a password is refused.
"""

import re
from typing import Any, NamedTuple

from inorder.errors import OperatorError
from inorder.host.credentials import has_split_password, redact

from .optional_deps import missing_package, require_module


class ProtocolNeeds(NamedTuple):
    """What a protocol needs."""

    package: str
    """The package that fsspec needs for it."""
    extra: str
    """The extra of inorder that brings it."""
    is_object_store: bool
    """Whether it has buckets and keys. Directories are never created there."""


_S3 = ProtocolNeeds("s3fs", "s3", True)
_GOOGLE = ProtocolNeeds("gcsfs", "gcs", True)
_AZURE = ProtocolNeeds("adlfs", "azure", True)
_HTTP = ProtocolNeeds("aiohttp", "http", False)
_SFTP = ProtocolNeeds("paramiko", "sftp", False)
_OTHER = ProtocolNeeds("fsspec", "remote", False)
PROTOCOLS = {
    "s3": _S3,
    "s3a": _S3,
    "gs": _GOOGLE,
    "gcs": _GOOGLE,
    "az": _AZURE,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "http": _HTTP,
    "https": _HTTP,
    "sftp": _SFTP,
    "ssh": _SFTP,
}
"""The protocols that have an extra. Others that fsspec knows need the package that its message names."""
_LOGGERS = ("adlfs", "aiobotocore", "aiohttp", "azure", "botocore", "fsspec", "gcsfs", "google", "paramiko", "s3fs")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_FILE = "file"


class StoreAddress(NamedTuple):
    """An address, without a slash at its end."""

    protocol: str
    rest: str

    def __str__(self) -> str:
        return f"{self.protocol}://{self.rest}"

    @property
    def needs(self) -> ProtocolNeeds:
        """What its protocol needs."""
        return PROTOCOLS.get(self.protocol, _OTHER)


def parse_address(text: str) -> StoreAddress | None:
    """Parse an address; None: it is a local path. `file://` is one, too: `strip_file_protocol` returns it. Raises
    OperatorError for an address with a password, without repeating it."""
    match = _ADDRESS.fullmatch(text)
    if match is None or match[1].lower() == _FILE:
        return None
    protocol, rest = match[1].lower(), match[2].rstrip("/")
    if has_split_password(rest):
        raise OperatorError(
            f"the {protocol}:// address seems to have a password; pass credentials through the environment of the "
            "protocol, and behind the host write @ as %40"
        )
    if redact(text) != text:
        raise OperatorError(
            f"the {protocol}:// address has a password; pass credentials through the environment of the protocol"
        )
    return StoreAddress(protocol, rest)


def strip_file_protocol(text: str) -> str:
    """The path of a `file://` address; other paths as they are."""
    return text[len(_FILE) + 3 :] if text.lower().startswith(f"{_FILE}://") else text


def silence_packages() -> None:
    """Keep log messages of the packages behind fsspec off the terminal, unless the program has set up logging: they are
    not ours, may be many, and may contain what a store has answered."""
    import logging

    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def open_filesystem(address: StoreAddress, *, by: str) -> tuple[Any, str]:
    """The fsspec filesystem of an address, and the path of the address in it. Raises OperatorError if its package is
    not installed, or fsspec does not know the protocol. `by` is the command or the option that needs it."""
    needs = address.needs
    fsspec = require_module("fsspec", by=by, extra=needs.extra)
    try:
        kind = fsspec.get_filesystem_class(address.protocol)
    except ImportError as error:
        if address.protocol in PROTOCOLS:
            raise missing_package(needs.package, by=f"{by} {address.protocol}://", extra=needs.extra) from None
        raise OperatorError(f"{by} {address.protocol}:// needs a package: {error}") from None
    except ValueError:
        raise OperatorError(f"unknown protocol {address.protocol}://; fsspec does not have it") from None
    silence_packages()
    options = kind._get_kwargs_from_urls(str(address))
    if needs.is_object_store:
        options["use_listings_cache"] = False
    return kind(skip_instance_cache=True, **options), kind._strip_protocol(str(address))
