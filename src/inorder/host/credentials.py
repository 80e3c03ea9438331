"""Addresses with credentials, as in `https://user:PASSWORD@host/?api_key=KEY#model`.

An address reaches hashes, manifests, journals, messages and other processes. So whatever reads one calls
`hide_credentials` first: it returns the address without them, and keeps them in the memory of this process, where
`find_credentials` finds them for what connects. A process that connects for this one is sent `list_credentials` through
its pipe. `redact` is for text that is only shown.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from inorder.errors import OperatorError

_SCHEME = r"(?<![A-Za-z0-9+.-])(?:(?i:https?):/*|[A-Za-z][A-Za-z0-9+.-]*:(?://|/(?=[^/?#]*:[^/?#]*@)))"
"""With what separates it from the host. A slash that is missing must not make a password the name of a folder."""
_ADDRESS = re.compile(
    rf"(?P<scheme>{_SCHEME})(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?", re.DOTALL
)
"""`urlsplit` refuses some passwords, and repeats them in its message."""
_WORD = re.compile(rf"{_SCHEME}(?:/*[^\s:/?#]*:[^/?#@]*@)?(?:(?!::{_SCHEME})\S)+")
"""An address in text, whose password may have spaces; of chained ones, each alone."""
_SECRET = re.compile(
    r"pass(word|wd|phrase|code)|(^|[-_.])pass$|pwd|^pw$|secret|token|credential|^creds?$|signature|^(sig|sas|hmac|jwt)$"
    r"|(^|[-_.])key$|(api|access|account|shared|subscription|auth)[-_]?key|^(auth|access|security)?[-_]?code$"
    r"|^session([-_]?(id|key))?$|^x-(amz|goog)-|^auth(orization|[-_]?(key|token))?$|^(bearer|otp|pin)$",
    re.IGNORECASE,
)
"""Parameters that give access to something, or belong to one that does."""
_HIDDEN = "***"


class Credentials(NamedTuple):
    """What was taken out of an address, as it was written there."""

    user: str = ""
    password: str | None = None
    parameters: tuple[str, ...] = ()
    """Each as `name=value`."""

    def find_parameter(self, *names: str) -> str | None:
        """Return the value of the first of these parameters that was given."""
        found = {unquote(name).lower(): unquote(value) for name, _, value in map(_split_parameter, self.parameters)}
        return next((found[name] for name in names if name in found), None)

    def find_password(self) -> str | None:
        """Return the password, wherever the address had it."""
        return self.find_parameter("password") if self.password is None else unquote(self.password)

    def redact(self, text: str) -> str:
        """Return text with `***` where it has these credentials as an address has them."""
        if self.password is not None:
            user = f"//{self.user}" if self.user else ""
            text = text.replace(f"{user}:{self.password}@", f"{'//***' if user else ''}:{_HIDDEN}@")
        elif self.user:
            text = text.replace(f"//{self.user}@", f"//{_HIDDEN}@")
        for each in self.parameters:
            text = text.replace(each, f"{each.partition('=')[0]}={_HIDDEN}")
        return text


_NONE = Credentials()
_known: dict[str, Credentials] = {}
"""By address, without credentials and fragment."""


def hide_credentials(text: str) -> str:
    """Return an address without its credentials, which are kept for `find_credentials`. Before it, `text` may have
    words such as `openai:`. What has no credentials is returned as it is. Raises OperatorError, without repeating it,
    for an address whose password ends at the wrong place."""
    found = _ADDRESS.search(text)
    if found is None:
        return text
    name = found["scheme"].partition(":")[0]
    if has_split_password(text[found.start("host") :]):
        raise OperatorError(
            f"the {name}:// address cannot be read: in a password write / as %2F, ? as %3F, # as %23 and @ as %40, "
            "and behind the host write @ as %40"
        )
    if _has_late_secret(found):
        raise OperatorError(f"the {name}:// address cannot be read: write its parameters before the #")
    require_two_slashes(text)
    credentials = _find_in(found)
    if credentials == _NONE:
        return text
    place = found["host"].rpartition("@")[2]
    user = "" if credentials.user else _find_user(found)
    kept = [each for each in _list_parameters(found) if each not in credentials.parameters]
    address = f"{found['scheme']}{user}{place}{found['path']}{'?' if kept else ''}{'&'.join(kept)}"
    _known[address] = credentials
    return f"{text[: found.start()]}{address}{found['fragment'] or ''}"


def require_two_slashes(text: str) -> None:
    """Raise OperatorError, without repeating it, for an address with a password and a wrong number of slashes before
    the host. It would be taken for the path of a file."""
    found = _ADDRESS.search(text)
    if found is not None and not re.fullmatch("[^/]*://", found["scheme"]) and ":" in found["host"].rpartition("@")[0]:
        name = found["scheme"].partition(":")[0]
        raise OperatorError(f"the {name} address cannot be read: it needs two slashes, as in {name}://host")


def find_credentials(address: str) -> Credentials:
    """Return what was taken out of an address in this process."""
    return _known.get(address.partition("#")[0], _NONE)


def restore_credentials(address: str) -> str:
    """Return an address with its credentials, for what connects."""
    known = find_credentials(address)
    scheme, mark, rest = address.partition("://")
    user = f"{known.user}{'' if known.password is None else f':{known.password}'}@"
    address = f"{scheme}{mark}{user if known.user or known.password is not None else ''}{rest}"
    return add_parameters(address, known.parameters)


def add_parameters(url: str, parameters: tuple[str, ...]) -> str:
    """Return a URL without a fragment, with further parameters."""
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(parameters)}" if parameters else url


def list_credentials() -> Mapping[str, Credentials]:
    """Return all that this process keeps, for another process that connects."""
    return dict(_known)


def keep_credentials(known: Mapping[str, Credentials]) -> None:
    """Keep what another process has sent."""
    _known.update(known)


def redact(text: str) -> str:
    """Return text with `***` for the credentials of the addresses in it, and for those that were taken out of one in
    this process."""
    if ":" not in text and "=" not in text:
        return text
    for each in tuple(_known.values()):
        text = each.redact(text)
    return _WORD.sub(lambda word: _redact_address(word[0]), text)


def has_split_password(rest: str) -> bool:
    """Whether what follows the scheme seems to have a password with a slash, a question mark or a number sign: its
    second half would be taken for a path, and be written and shown."""
    head = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if not head:  # a slash too many: a user and a password would be taken for a folder
        return re.match(r"/+[^/?#]*:[^/?#]*@", rest) is not None
    user, at, _ = head.rpartition("@")
    has_host = not at and (head.startswith("arn:") or re.fullmatch(r".*:\d*|\[.*\]", head) is not None)
    return "@" in rest[len(head) :] and ":" in (user if at else head) and not has_host


def _find_in(address: re.Match[str]) -> Credentials:
    user, at, _ = address["host"].rpartition("@")
    name, colon, password = user.partition(":")
    # On the web, the name of a user may be a token.
    is_web = re.match("https?:", address["scheme"], re.IGNORECASE) is not None
    parameters = tuple(each for each in _list_parameters(address) if _is_secret(each))
    return Credentials(name if at and is_web else "", password if colon else None, parameters)


def _find_user(address: re.Match[str]) -> str:
    user, at, _ = address["host"].rpartition("@")
    return f"{user.partition(':')[0]}{at}"


def _list_parameters(address: re.Match[str]) -> list[str]:
    return [each for each in (address["query"] or "?")[1:].split("&") if each]


def _is_secret(parameter: str) -> bool:
    """Whether a parameter is a secret. Some servers take a semicolon for a separator, too."""
    return any(_SECRET.search(unquote(each.partition("=")[0])) for each in parameter.split(";"))


def _has_late_secret(address: re.Match[str]) -> bool:
    """Whether the fragment, which may be the name of a model, has a secret."""
    parts = re.split("[?&#]", address["fragment"] or "")
    return any("=" in each and _is_secret(each) for each in parts)


def _split_parameter(parameter: str) -> tuple[str, str, str]:
    return parameter.partition("=")


def _redact_address(text: str) -> str:
    found = _ADDRESS.fullmatch(text)
    if found is None or has_split_password(text[found.start("host") :]) or _has_late_secret(found):
        return f"{text.partition(':')[0]}://{_HIDDEN}"
    credentials = _find_in(found)
    user = _HIDDEN if credentials.user else _find_user(found).removesuffix("@")
    user += "" if credentials.password is None else f":{_HIDDEN}"
    place = found["host"].rpartition("@")
    parameters = [
        f"{each.partition('=')[0]}={_HIDDEN}" if each in credentials.parameters else each
        for each in _list_parameters(found)
    ]
    query = f"?{'&'.join(parameters)}" if parameters else found["query"] or ""
    return f"{found['scheme']}{user}{place[1]}{place[2]}{found['path']}{query}{found['fragment'] or ''}"
