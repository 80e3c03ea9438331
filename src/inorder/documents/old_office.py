"""The kinds of files that the extra `old-office` reads, and whether it is installed."""

from functools import cache
from importlib.util import find_spec

EXTRA = "old-office"
PACKAGE = "docling_rs"
CONVERTED = {
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroenabled.12",
    "pages": "application/vnd.apple.pages",
    "numbers": "application/vnd.apple.numbers",
    "key": "application/vnd.apple.keynote",
    "latex": "application/x-tex",
}
"""The kinds, and their MIME types."""


@cache
def is_installed() -> bool:
    """Whether the extra is installed. Nothing is imported."""
    return find_spec(PACKAGE) is not None


def lacks_extra(kind: str) -> bool:
    """Whether files of this kind are not read because the extra is not installed."""
    return kind in CONVERTED and not is_installed()
