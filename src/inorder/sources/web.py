"""Requests to web servers: which machines they may reach, and how slow a response may be.

A public address must not make us read what only this machine or its network can: neither by a redirect, nor by a name
that resolves to a private address. So the address of each connection is checked, after its name was resolved. Whoever
names a machine of his own network as the source may read from it.
"""

import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .limits import WINDOW_S, FetchLimits

if TYPE_CHECKING:
    import aiohttp

_PIECE_BYTES = 2**20
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa")
"""Names that no public server has."""

_IPV4_LAST = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96")))
"""Networks whose addresses end with one of IPv4: mapped, translated (SIIT), compatible, NAT64."""
_PRIVATE_NETWORKS = tuple(map(ipaddress.IPv6Network, ("64:ff9b:1::/48", "5f00::/16")))
"""NAT64 and segments of a network of one's own, which `ipaddress` does not know."""


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
    found: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.is_site_local or any(found in network for network in _PRIVATE_NETWORKS):
            return False
        found = _find_embedded(found) or found
    return found.is_global and not found.is_multicast


def _find_embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that the system or a router takes out of an IPv6 address, and connects to; None: none."""
    if any(address in network for network in _IPV4_LAST):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.sixtofour


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


async def finish(read: Awaitable[bytes], byte_count: int, limits: FetchLimits) -> bytes:
    """Return a response that arrives as a whole. Raises SlowResponse if it takes longer than it would with the least
    rate; `byte_count` is its size, and below 0 if that is not known."""
    import asyncio  # slow to import

    is_limited = limits.bytes_per_s_min > 0 and byte_count >= 0
    limit_s = WINDOW_S + byte_count / limits.bytes_per_s_min if is_limited else None
    timeout = asyncio.timeout(limit_s)
    try:
        async with timeout:
            return await read
    except TimeoutError:
        if not timeout.expired():
            raise
        raise SlowResponse(f"{byte_count:,} bytes did not arrive in {limit_s:,.0f} s") from None


def read_slowly(read: Callable[[int], bytes], limits: FetchLimits, cut: Callable[[], object]) -> bytes:
    """Return what a function reads that blocks. Raises SlowResponse if it arrives with less than the least rate: then
    `cut` is called in another thread, and must make `read` raise an exception."""
    wanted = int(limits.bytes_per_s_min * WINDOW_S)
    if wanted <= 0:
        return read(-1)
    found = bytearray()
    while True:
        is_cut = threading.Event()
        timer = threading.Timer(WINDOW_S, lambda now=is_cut: (now.set(), cut()))
        timer.start()
        try:
            piece = read(wanted)
        except Exception as error:
            if is_cut.is_set():
                raise make_slow(limits) from error
            raise
        finally:
            timer.cancel()
        if not piece:
            return bytes(found)
        found += piece


def make_slow(limits: FetchLimits) -> SlowResponse:
    """The error for a response that arrives with less than the least rate."""
    return SlowResponse(f"fewer than {limits.bytes_per_s_min:,} bytes per second arrived in {WINDOW_S:g} s")


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
            raise make_slow(limits) from None
