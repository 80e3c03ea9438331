"""What tells the address of a target from a folder. Credentials in it: see `inorder.host.credentials`."""


def has_scheme(text: str) -> bool:
    """Whether a text is an address with a scheme, and not the path of a folder."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.replace("+", "").isalnum()
