"""Options of the server, and its limits."""

import ipaddress

import msgspec

from inorder.errors import OperatorError, require

PORT = 8765
LOOPBACK = "127.0.0.1"
QUESTION_CHARACTERS_MAX = 20_000
"""A question; a longer one is refused. The command line searches for as many characters."""
HITS_MAX = 100
URL_BYTES_MAX = 256 * 1024
"""The request line and the headers: a character of the question takes up to twelve bytes."""
BODY_BYTES_MAX = 0
"""No request has a body."""
ANSWER_S_MAX = 30.0
"""A request that takes longer is answered with an error."""
SEND_S_MAX = 30.0
"""A client that reads nothing for this long is disconnected."""
HEADER_S_MAX = 10.0
"""A client that has not sent the whole header after this time is disconnected."""
CONNECTIONS_MAX = 256
STREAMS_MAX = 64
"""Live pages that are open at the same time."""
FILE_BYTES_MAX = 64 * 1024 * 1024
"""A source file that is rendered or downloaded."""
TEXT_BYTES_MAX = 2 * 1024 * 1024
"""A source file that is shown as text."""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which DATA to serve, and to whom."""

    data: tuple[str, ...]
    host: str = LOOPBACK
    port: int = PORT
    """0: any free port."""
    token: str = ""
    """What a client must present; empty: nothing."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names under which the server may be addressed."""

    def __post_init__(self) -> None:
        require(bool(self.data), "serve needs a DATA directory")
        require(0 <= self.port <= 65535, f"--port must be 0 to 65535; got {self.port}")
        if not self.token and not self.is_loopback:
            raise OperatorError(
                f"--no-token is refused with --host {self.host}: anyone who can reach this address could read DATA"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or an address without brackets means this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
