"""The server: it takes an address, says where it can be reached, and answers until it is stopped."""

import errno
import ipaddress
import os
import secrets
import socket
import stat
import webbrowser
from collections.abc import Callable, Sequence

import uvicorn

from inorder.errors import InfrastructureError, OperatorError, require
from inorder.host.named_file import read_named

from .app import make_app
from .options import CONNECTIONS_MAX, URL_BYTES_MAX, ServeOptions
from .security.limits import TimedProtocol

_TOKEN_BYTES = 32
_TOKEN_CHARACTERS_MIN = 16
_KEEP_ALIVE_S = 15
_SHUTDOWN_S = 3


def run_server(
    options: ServeOptions, announce: Callable[[Sequence[str]], None], *, opens_browser: bool = False
) -> None:
    """Serve until SIGINT or SIGTERM. `announce` gets the addresses to open, with the token. Raises OperatorError if
    `options` name an address that cannot be used."""
    listener = bind(options.host, options.port)
    try:
        port = listener.getsockname()[1]
        app = make_app(options, port)
        urls = [make_url(options, port), *(make_url(options, port, name) for name in options.allowed_hosts)]
        announce(urls)
        if opens_browser:
            webbrowser.open(urls[0])
        config = uvicorn.Config(
            app,
            http=TimedProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="critical",
            server_header=False,
            limit_concurrency=CONNECTIONS_MAX,
            h11_max_incomplete_event_size=URL_BYTES_MAX,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_SHUTDOWN_S,
        )
        uvicorn.Server(config).run([listener])
    finally:
        listener.close()


def make_token() -> str:
    """A random token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def read_token(path: str) -> str:
    """The token in a file that only its owner can read. Raises OperatorError if it is unusable."""
    try:
        mode = os.stat(path).st_mode
        token = read_named(path, 4096).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"--token-file cannot be read: {path}: {getattr(error, 'strerror', error)}") from error
    require(
        not mode & (stat.S_IRWXG | stat.S_IRWXO),
        f"--token-file can be read by others: run `chmod 600 {path}`",
    )
    is_printable = token.isascii() and token.isprintable() and " " not in token
    require(
        is_printable and len(token) >= _TOKEN_CHARACTERS_MIN,
        f"--token-file needs one line of at least {_TOKEN_CHARACTERS_MIN} characters without spaces: {path}",
    )
    return token


def make_url(options: ServeOptions, port: int, name: str = "") -> str:
    """The address to open, under another name of the machine if one is given."""
    host = name or options.host
    try:
        address = ipaddress.ip_address(host)
        if address.is_unspecified:
            host = socket.gethostname()
        elif address.version == 6:
            host = f"[{host}]"
    except ValueError:
        pass
    return f"http://{host}:{port}/" + (f"?token={options.token}" if options.token else "")


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises OperatorError if the address is in use, or is not one of this machine."""
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise OperatorError(f"--host {host}: {getattr(error, 'strerror', None) or error}") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            message = f"port {port} is in use; choose another with --port, or --port 0 for any free one"
            raise OperatorError(message) from error
        if error.errno in (errno.EADDRNOTAVAIL, errno.EACCES):
            raise OperatorError(f"cannot listen on {host} port {port}: {error.strerror}") from error
        raise InfrastructureError(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return listener
