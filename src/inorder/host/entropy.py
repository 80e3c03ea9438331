"""Names that nobody else has."""

import os


def new_run_id() -> str:
    """Of a run: sixteen hexadecimal digits."""
    return os.urandom(8).hex()
