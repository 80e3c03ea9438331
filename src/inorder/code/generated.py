"""Recognize binary and generated files by their names and first bytes.

Generated files often have a comment near the top that says so. Only comments count, so that a code generator, which
contains such a line in a string, is not taken for its output.
"""

import re

LINE_BYTES_MAX = 1000
"""Average line length above which a file counts as minified."""
_MARKER_LINES = 10
_MINIFIED_BYTES_MIN = 2000
_UNICODE_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BINARY_STARTS = (b"%PDF-", b"PK\x03\x04", b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"\x1f\x8b", b"\x7fELF", b"OggS")
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r\f\b\x1b"))
_CONTROLS_SHARE_MAX = 0.1
_LOCK_NAMES = frozenset(
    (
        "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "composer.lock",
        "gemfile.lock", "cargo.lock", "poetry.lock", "pipfile.lock", "uv.lock", "pdm.lock", "go.sum", "flake.lock",
        "mix.lock", "podfile.lock", "packages.lock.json", "gradle.lockfile",
    )
)  # fmt: skip
_MINIFIED_NAME = re.compile(r"[.-]min\.(?:js|mjs|css|html)$|\.(?:js|css)\.map$")
_GENERATED_NAME = re.compile(
    r"(?:\.pb\.(?:go|cc|h)|_pb2(?:_grpc)?\.pyi?|\.designer\.cs|\.g\.(?:cs|dart)|\.generated\.\w+)$"
)
_MARKER = re.compile(
    rb"^\s*(?://|/?\*|#|--|;|<!--|%|\"|').*?"
    rb"(?:@generated\b|\bdo not (?:edit|modify)\b|\bautomatically generated\b|\bauto-?generated (?:by|from|file|code)\b"
    rb"|\bgenerated (?:by|from) .*(?:do not edit|compiler)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_MARKER_PHRASES = (b"generated", b"do not ")
"""Every marker contains one of these."""


def reason_to_skip(path: str, head: bytes) -> str:
    """Why a file with this path and these first bytes is not indexed; empty if it is."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if is_binary(head):
        return "not a text file"
    if name in _LOCK_NAMES:
        return "generated: a lock file"
    if _MINIFIED_NAME.search(name) or _is_minified(head):
        return "generated: minified"
    if _GENERATED_NAME.search(name):
        return "generated: has the name of a generated file"
    return "generated: says so in a comment" if _has_marker_comment(head) else ""


def is_binary(head: bytes) -> bool:
    """Whether these are the first bytes of a binary file."""
    if head.startswith(_BINARY_STARTS):
        return True
    if head.startswith(_UNICODE_MARKS):
        return False
    if b"\0" in head:
        return not _is_likely_utf16(head)
    return len(head) - len(head.translate(None, _CONTROLS)) > _CONTROLS_SHARE_MAX * len(head)


def _is_likely_utf16(head: bytes) -> bool:
    """Whether NUL bytes are frequent, and only at even or only at odd positions."""
    odd, even = head[1::2].count(0), head[0::2].count(0)
    return min(odd, even) == 0 and max(odd, even) >= 0.4 * len(head)


def _is_minified(head: bytes) -> bool:
    return len(head) > _MINIFIED_BYTES_MIN and len(head) > LINE_BYTES_MAX * (head.count(b"\n") + 1)


def _has_marker_comment(head: bytes) -> bool:
    start = head if b"\r" in head else b"\n".join(head.split(b"\n", _MARKER_LINES)[:_MARKER_LINES])
    folded = start.lower()
    if all(phrase not in folded for phrase in _MARKER_PHRASES):  # most files: a tenth of the time of the expression
        return False
    return _MARKER.search(b"\n".join(start.splitlines()[:_MARKER_LINES])) is not None
