"""What tells the address of a target from a folder. Credentials in it: see `inorder.host.credentials`."""

from inorder.extensions.loading import parse_entry


def has_scheme(text: str) -> bool:
    """Whether a text is an address with a scheme, which may be `module:name`, and not the path of a folder."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and (scheme.replace("+", "").isalnum() or parse_entry(scheme) is not None)
