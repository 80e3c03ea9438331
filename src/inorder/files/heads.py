"""The first bytes of a file, which tell what it is."""


def read_head(path: str, count: int) -> bytes:
    """Return the first `count` bytes of a file, fewer if it is shorter. Raises OSError if it cannot be read."""
    with open(path, "rb") as file:
        return file.read(count)
