"""The signature of a file: what stays equal as long as the file does not change."""

import struct

from inorder.stage.file_stat import FileStat

_FIELDS = struct.Struct("<4q")
_WRAP = 2**64
_LIMIT = 2**63


def pack_signature(stat: FileStat) -> bytes:
    """Return the signature of a stat; empty if the file is racy: then it may change again without a change of its
    signature."""
    return b"" if stat.is_racy else _FIELDS.pack(*map(_wrap, stat.signature))


def _wrap(value: int) -> int:
    """An inode, or a time in the far future, as a signed number."""
    value %= _WRAP
    return value - _WRAP if value >= _LIMIT else value
