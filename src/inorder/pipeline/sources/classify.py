"""What a file is: a document, source code, or a file that is not read, with the reason.

The rules for documents come first. A file that no reader knows is source code, unless it is binary, generated or too
large. Only the first bytes are read.
"""

from typing import NamedTuple

from inorder.code.generated import reason_to_skip
from inorder.code.languages import language_of
from inorder.code.rules import HEAD_BYTES as CODE_HEAD_BYTES
from inorder.code.rules import SIZE_MAX, TOO_LARGE
from inorder.documents.convert.kinds import (
    NEEDS_EXTRA,
    NOT_FETCHED,
    find_kind,
    find_reason_not_read,
    guess_kind,
    settle_kind,
    settle_unknown,
)
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.inputs import BYTES_MAX
from inorder.documents.readers.registry import NATIVE, READERS
from inorder.documents.readers.sniff import HEAD_BYTES as DOCUMENT_HEAD_BYTES

HEAD_BYTES = max(DOCUMENT_HEAD_BYTES, CODE_HEAD_BYTES)
"""How many bytes of a file are needed at most."""
DOCUMENT, CODE, ARCHIVE, PART = "document", "code", "archive", "part"
"""Roles of what the library knows. An archive is known so that it is not opened again, and a part of a long document so
that it is not read again: both are no files that users are told of, except an archive that cannot be read."""
NO_FILE = "special"
"""The kind of what is listed and is no regular file."""
_GENERIC_KINDS = ("unknown", "binary", NOT_FETCHED)
_NO_CODE_KINDS = ("image", "empty", "link", "special")
"""Kinds of files that are certainly no source code: what keeps them from being documents is what users are told."""


class FileKind(NamedTuple):
    """What a file is."""

    role: str
    """`document`, `code`, `archive`, `part`, or empty: it is not read."""
    kind: str = ""
    """The kind of a document, as its readers are called, or the language of source code; empty: none is known."""
    reason: str = ""
    """Why it is not read."""
    problem: str = ""
    """Why it cannot be read, although it should be: it is a failed file."""

    def __str__(self) -> str:
        return f"{self.role}:{self.kind}"

    @classmethod
    def parse(cls, text: str) -> "FileKind":
        """Return what `str` was called with, without the reason and the problem."""
        role, _, kind = text.partition(":")
        return cls(role, kind)


UNREADABLE = FileKind(DOCUMENT, "unknown")
"""A file that cannot be read, so that it is not known what it is."""


def classify_file(
    path: str, head: bytes, size: int, settings: ConvertSettings, *, is_document: bool = True, not_code: str = ""
) -> FileKind:
    """Return what a file with these first bytes (`HEAD_BYTES` of them) is. `is_document`: the rules admit it as a
    document. `not_code`: why the rules do not admit it as source code; empty: they do."""
    kind = _settle(path, find_kind(path, head[:DOCUMENT_HEAD_BYTES], settings), settings) if is_document else "unknown"
    reason = find_reason_not_read(kind, settings)
    if is_document and not reason:
        if size > BYTES_MAX:
            return FileKind(DOCUMENT, kind, problem=f"the file has {size:,} bytes; the limit is {BYTES_MAX:,}")
        return FileKind(DOCUMENT, kind)
    if kind in _NO_CODE_KINDS and is_document:
        return FileKind("", kind, reason)
    if is_document and reason == NEEDS_EXTRA and language_of(path, b"") is None:
        return FileKind("", kind, reason)
    if not_code:
        return FileKind("", kind, not_code)
    skip = TOO_LARGE if size > SIZE_MAX else reason_to_skip(path, head[:CODE_HEAD_BYTES])
    return FileKind("", kind, skip) if skip else FileKind(CODE, language_of(path, head[:CODE_HEAD_BYTES]) or "")


def classify_unreadable(path: str, problem: str, *, not_code: str = "") -> FileKind:
    """Return what a file is that cannot be opened, by its name: source code if only code has such a name, otherwise a
    document."""
    language = "" if not_code else language_of(path, b"")
    is_code = bool(language) and guess_kind(path, 1) not in READERS
    return (FileKind(CODE, language or "") if is_code else UNREADABLE)._replace(problem=problem)


def classify_content(
    path: str,
    kind: str,
    size: int,
    settings: ConvertSettings,
    *,
    is_document: bool = True,
    not_code: str = "a member of an archive",
) -> FileKind:
    """Return what content is that is no file of its own, by its kind and its name. The rules are those of
    `classify_file`."""
    kind = _settle(path, settle_kind(path, kind, settings), settings)
    reason = find_reason_not_read(kind, settings)
    if reason or not is_document:
        if kind in _NO_CODE_KINDS or not_code:
            return FileKind("", kind, reason or not_code)
        return FileKind(CODE, language_of(path, b"") or "")
    too_large = f"the file has {size:,} bytes; the limit is {BYTES_MAX:,}" if size > BYTES_MAX else ""
    return FileKind(DOCUMENT, kind, problem=too_large)


def reconsider(known: FileKind, name: str, settings: ConvertSettings) -> FileKind | None:
    """Return what a file is now that was classified before; None: it must be looked at again, because the settings
    may have made it a document."""
    if known.role == DOCUMENT:
        kind = _settle(name, settle_kind(name, known.kind, settings), settings)
        return known if kind == known.kind and not find_reason_not_read(kind, settings) else None
    if known.role == ARCHIVE:
        return known
    if known.role == CODE:
        return known if settings.own_reader == NATIVE and _settle(name, "unknown", settings) == "unknown" else None
    return (
        known
        if find_reason_not_read(_settle(name, settle_kind(name, known.kind, settings), settings), settings)
        else None
    )


def _settle(path: str, kind: str, settings: ConvertSettings) -> str:
    """Return the kind of a file if a plug-in may read it. One that is source code by its name is none that is unknown:
    then no plug-in is looked for."""
    is_named = kind not in READERS and language_of(path, b"") is not None
    return kind if is_named and kind in _GENERIC_KINDS else settle_unknown(path, kind, settings)
