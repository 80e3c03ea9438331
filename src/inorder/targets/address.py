"""The address of a target, and the secrets in it.

An address is stored in journals and manifests and is shown in messages, so secrets are taken out of it as soon as it is
read. They stay in the memory of this process.
"""

import re
from urllib.parse import quote, unquote

from inorder.errors import OperatorError
from inorder.files.addresses import has_split_password

_SECRETS = ("password", "passfile", "sslpassword", "api_key", "apikey", "key", "secret", "token", "access_token")
"""Names of parameters of an address that are not stored or shown."""
_PARTS = re.compile(r"([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
"""Host, path and parameters. `urlsplit` refuses some passwords, and repeats them in its message."""
_known: dict[str, dict[str, str]] = {}


def has_scheme(text: str) -> bool:
    """Whether a text is an address with a scheme, and not the path of a folder."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.replace("+", "").isalnum()


def hide_secrets(text: str) -> str:
    """The address without its secrets. `find_secrets` returns them. Raises OperatorError, without repeating it, for an
    address whose password ends at the wrong place."""
    if not has_scheme(text):
        return text
    scheme, _, rest = text.partition("://")
    if has_split_password(rest):
        raise OperatorError(
            f"the {scheme}:// address cannot be read: in a password write / as %2F, ? as %3F, # as %23 and @ as %40, "
            "and behind the host write @ as %40"
        )
    [(host, path, parameters)] = _PARTS.findall(rest)[:1]
    secrets: dict[str, str] = {}
    user, separator, place = host.rpartition("@")
    user, has_password, password = user.partition(":")
    if has_password:
        secrets["password"] = unquote(password)
    kept = []
    for parameter in filter(None, parameters.split("&")):
        name, _, value = map(unquote, parameter.partition("="))
        if name.lower() in _SECRETS:
            secrets[name.lower()] = value
        else:
            kept.append(f"{quote(name, safe='')}={quote(value, safe='')}")
    query = f"?{'&'.join(kept)}" if kept else ""
    address = f"{scheme}://{user}{separator}{place}{path}{query}"
    if secrets:
        _known[address] = secrets
    return address


def find_secrets(address: str) -> dict[str, str]:
    """The secrets that were taken out of an address in this process, by name."""
    return dict(_known.get(address, {}))
