"""The address of a target, and the secrets in it.

An address is stored in journals and manifests and is shown in messages, so secrets are taken out of it as soon as it is
read. They stay in the memory of this process.
"""

from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

_SECRETS = ("password", "passfile", "sslpassword", "api_key", "apikey", "key", "secret", "token", "access_token")
"""Names of parameters of an address that are not stored or shown."""
_known: dict[str, dict[str, str]] = {}


def has_scheme(text: str) -> bool:
    """Whether a text is an address with a scheme, and not the path of a folder."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.replace("+", "").isalnum()


def hide_secrets(text: str) -> str:
    """The address without its secrets. `find_secrets` returns them."""
    if not has_scheme(text):
        return text
    parts = urlsplit(text)
    secrets: dict[str, str] = {}
    user, separator, place = parts.netloc.rpartition("@")
    user, has_password, password = user.partition(":")
    if has_password:
        secrets["password"] = unquote(password)
    kept = []
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name.lower() in _SECRETS:
            secrets[name.lower()] = value
        else:
            kept.append((name, value))
    query = f"?{urlencode(kept, quote_via=quote)}" if kept else ""
    # `urlunsplit` drops an empty host, and a slash of a path that begins with two.
    address = f"{parts.scheme}://{user}{separator}{place}{parts.path}{query}"
    if secrets:
        _known[address] = secrets
    return address


def find_secrets(address: str) -> dict[str, str]:
    """The secrets that were taken out of an address in this process, by name."""
    return dict(_known.get(address, {}))
