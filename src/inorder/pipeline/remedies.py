"""What helps with files that are not read, and with files that have failed.

A file is *not read* if nobody is to blame: it is empty, a link, or of a type without a reader. A file has *failed* if
it should have been read. For both there is one table here, and every surface says what it says.
"""

from importlib.util import find_spec
from typing import NamedTuple

from inorder.documents.convert.kinds import NEEDS_EXTRA
from inorder.documents.old_office import EXTRA


class Remedy(NamedTuple):
    """What is said of files that are not read for reasons of one sort."""

    advice: str
    """What helps, or why nothing does; empty: the noun says it."""
    noun: str = ""
    """What the files are called, in the singular; empty: they are called by their types."""


OCR = "add --ocr"
"""What helps with images, and with pages without text."""
_LINK, _SPECIAL = Remedy("", "link"), Remedy("", "special file")
_NO_READER = Remedy("no reader for this type")
_NOT_READ = (
    ("an image", Remedy(OCR, "image")),
    (NEEDS_EXTRA, Remedy(f"add the extra {EXTRA}")),
    ("the file is empty", Remedy("", "empty file")),
    ("a symbolic link", _LINK),
    ("a link", _LINK),
    ("not a regular file", _SPECIAL),
    ("not a file", _SPECIAL),
    ("not a text file", _NO_READER),
    ("not a document", _NO_READER),
    ("a member of an archive", Remedy("source code in an archive: unpack it")),
    ("generated", Remedy("generated files")),
)
"""By the beginning of the reason. Another reason says itself what is to be done."""
_OCR_MODULE = "rapidocr"
_FAILED = {
    "input": "mend or replace the file; a run reads it again when it has changed",
    "config": "change the setting that the reason names; a run with other settings tries again",
    "timeout": "give the step more time with --timeout-s, then run `inorder retry`",
    "io": "see that the file can be read; the next run tries again",
    "provider": "see that the server can be reached; the same command tries again",
    "runtime": "the next run tries again; --set memory_bytes_max=8G gives a worker more memory",
}
"""By the category of the failure."""
_UNKNOWN = "the next run tries again; `inorder failures -v` shows the traceback"
_ENCRYPTED = ("encrypted with a password", "the member is encrypted;")
"""What the reason of every reader says that could use a password."""
_PASSWORD = "write the password into a file, then: inorder run {source} --password-file FILE"
_EXTRA = "needs the package"


def find_remedy(reason: str) -> Remedy:
    """Return what is said of files that are not read for this reason."""
    return next((found for start, found in _NOT_READ if reason.startswith(start)), Remedy(reason))


def find_advice(reason: str) -> str:
    """Return what helps with files that are not read for this reason, or why nothing does."""
    advice = find_remedy(reason).advice
    return describe_ocr() if advice == OCR else advice


def describe_ocr() -> str:
    """Return what helps with images and scans, with the extra that it needs if that is not installed."""
    return OCR if find_spec(_OCR_MODULE) is not None else f"{OCR}; needs the extra ocr"


def is_encrypted(message: str) -> bool:
    """Whether a file has failed because no password opens it."""
    return any(each in message for each in _ENCRYPTED)


def lacks_password(message: str) -> bool:
    """Whether a file has failed because no password was given. If none of those given opens it, the message says so."""
    return is_encrypted(message) and "none in the password file" not in message


def suggest_help(category: str, message: str, source: str = "SRC", data_option: str = "") -> str:
    """Return what would help with a failure of a category; empty: the message says it itself. Commands in hints name
    `source`, and have `data_option` to find DATA."""
    if lacks_password(message) and _EXTRA not in message:
        return f"{_PASSWORD.format(source=source)}{data_option}"
    found = "" if ";" in message else _FAILED.get(category, _UNKNOWN)
    return found.replace("`inorder retry", f"`inorder retry{data_option}").replace(
        "failures -v", f"failures -v{data_option}"
    )
