"""The address of a model behind a server."""

from urllib.parse import urlsplit

from inorder.errors import require


def parse_address(address: str, kind: str = "openai", *, needs_model: bool = True) -> tuple[str, str]:
    """Return the URL and the model in `URL#MODEL`, without credentials. Raises OperatorError for an invalid one; `kind`
    is what stands before it."""
    url, _, model = address.partition("#")
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_valid = False
    shown = url.rpartition("@")[2]  # without a scheme, what is before it may be a password
    require(is_valid, f"{kind}:URL must be an http address such as {kind}:http://localhost:8080, got {shown!r}")
    require(bool(model) or not needs_model, f"{kind}:URL#MODEL needs the name of a model: {kind}:{url}#NAME")
    return url, model
