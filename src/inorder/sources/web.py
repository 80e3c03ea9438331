"""Requests to web servers: which machines they may reach, and how slow a response may be.

A public address must not make us read what only this machine or its network can: neither by a redirect, nor by a name
that resolves to a private address. So the address of each connection is checked, after its name was resolved. Whoever
names a machine of his own network as the source may read from it.
"""

import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .limits import WINDOW_S, FetchLimits

if TYPE_CHECKING:
    import aiohttp

_PIECE_BYTES = 2**20
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa")
"""Names that no public server has."""


class RefusedAddress(OSError):
    """A connection to a loopback or private address, which was not asked for."""


class SlowResponse(Exception):
    """A response that does not arrive in time."""


def has_local_host(address: str) -> bool:
    """Whether an address names a machine of one's own: by a name that no public one has, or by a private number."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    try:
        return not _is_public(host)
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_SUFFIXES)


def _is_public(address: str) -> bool:
    """Whether the number of a machine is public. Raises ValueError if it is no number."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_global


async def open_client(*, reaches_private: bool, **options: Any) -> "aiohttp.ClientSession":
    """Open a client that connects to public machines only, or to all."""
    import aiohttp

    connector = aiohttp.TCPConnector(socket_factory=None if reaches_private else _open_public_socket)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=WINDOW_S, sock_read=WINDOW_S)
    return aiohttp.ClientSession(connector=connector, timeout=timeout, **options)


def _open_public_socket(resolved: tuple[Any, ...]) -> socket.socket:
    """Open a socket for an address that was resolved: family, kind, protocol, name, and the address itself."""
    family, kind, protocol, _, address = resolved
    if not _is_public(address[0]):
        raise RefusedAddress("the address leads to a loopback or private one")
    return socket.socket(family, kind, protocol)


async def receive(
    read: Callable[[int], Awaitable[bytes]], limits: FetchLimits, consume: Callable[[bytes], object]
) -> None:
    """Pass a response on in pieces. Raises SlowResponse if it arrives with less than the least rate."""
    import asyncio  # slow to import

    wanted = int(limits.bytes_per_s_min * WINDOW_S)
    is_limited = wanted > 0
    while True:
        missing = max(wanted, 1)
        try:
            async with asyncio.timeout(WINDOW_S if is_limited else None):
                while missing > 0:
                    piece = await read(_PIECE_BYTES)
                    if not piece:
                        return
                    consume(piece)
                    missing -= len(piece)
        except TimeoutError:
            raise SlowResponse(
                f"fewer than {limits.bytes_per_s_min:,} bytes per second arrived in {WINDOW_S:g} s"
            ) from None
