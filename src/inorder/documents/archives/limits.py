"""Limits of archives. Nothing in an archive is trusted: a few kilobytes can claim, or unpack to, any size."""

from inorder.errors import ReadError

MEMBERS_MAX = 100_000
"""Of one archive with all archives in it. Each becomes a row of the manifest."""
DEPTH_MAX = 3
"""Archives within archives: the members of a third level are documents, not folders."""
TOTAL_BYTES_MAX = 2**38
"""Unpacked size of all members: 256 GiB."""
RATIO_MAX = 400
RATIO_BYTES_MIN = 2**23
"""Text is compressed by a factor of 10, long tables by 100, bombs by 1000. What unpacks to less is not checked."""
NESTED_BYTES_MAX = 2**28
"""The largest archive within an archive: it is held in memory."""
DIRECTORY_BYTES_MAX = 2**25
"""The directory of a ZIP archive, which is held in memory with some ten times its size."""
HEADER_BYTES_MAX = 2**20
"""A header of a tar archive with a long name or other fields."""
NAME_CHARACTERS_MAX = 4_096


class ArchiveError(ReadError):
    """The archive as a whole cannot be read, or not from here on."""


def exceeds_ratio(unpacked: int, packed: int) -> bool:
    """Whether something unpacks to so much more than its size that it must be a bomb."""
    return unpacked > RATIO_BYTES_MIN and unpacked > packed * RATIO_MAX


class Budget:
    """What is left of the limits of one archive, with all archives in it."""

    def __init__(self) -> None:
        self._members = MEMBERS_MAX
        self._bytes = TOTAL_BYTES_MAX

    def take(self, size: int) -> None:
        """Count a member. Raises ArchiveError if there are too many, or if they are too large together."""
        self._members -= 1
        self._bytes -= size
        if self._members < 0:
            raise ArchiveError(f"the archive has more than {MEMBERS_MAX:,} members")
        if self._bytes < 0:
            raise ArchiveError(f"the members of the archive have more than {TOTAL_BYTES_MAX:,} bytes")
