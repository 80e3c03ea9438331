"""Consent: before content is sent to a server elsewhere, the user is told what is sent where, and agrees."""

import ipaddress
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

from inorder.errors import OperatorError

from .trust import agree_to_sending, is_sending_agreed


def require_consent(address: str, what: str, tell: Callable[[str], object], *, is_agreed: bool) -> None:
    """Ask the user whether content may be sent to a server, unless it is on this machine or was agreed to. Raises
    OperatorError without a yes. `address` has no credentials, and `tell` shows a line."""
    parts = urlsplit(address.partition("#")[0])
    place = f"{parts.scheme}://{parts.netloc}"
    if _is_loopback(parts.hostname or "") or is_sending_agreed(place):
        return
    said = f"{what} will be sent to {place}"
    if not is_agreed:
        is_agreed = sys.stdin.isatty() and sys.stderr.isatty() and _ask(f"{said}. Do you agree? [y/N] ")
    if not is_agreed:
        raise OperatorError(f"{said}; add --set send=true to agree, once for each server")
    tell(said)
    agree_to_sending(place)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ask(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
