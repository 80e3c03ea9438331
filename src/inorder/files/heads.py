"""The first bytes of a file, which tell what it is."""

from inorder.host.regular_file import open_regular


def read_head(path: str, count: int) -> bytes:
    """Return the first `count` bytes of a file, fewer if it is shorter. Raises OSError if it cannot be read."""
    with open_regular(path) as file:
        return file.read(count)
