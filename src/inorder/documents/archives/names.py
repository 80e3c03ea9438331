"""The names of archives, and of the documents in them."""

from collections.abc import Iterable

from inorder.stage.sources import quote_id

_FORMATS = {
    ".zip": "zip",
    ".tar": "",
    ".tar.gz": "gz",
    ".tgz": "gz",
    ".tar.bz2": "bz2",
    ".tbz2": "bz2",
    ".tbz": "bz2",
    ".tar.xz": "xz",
    ".txz": "xz",
    ".tar.zst": "zst",
    ".tzst": "zst",
    ".eml": "eml",
    ".mbox": "mbox",
    ".pdf": "pdf",
}
"""What is an archive, by the ending of the name: `zip`, `eml`, `mbox`, `pdf`, or how a tar archive is compressed."""
MAIL_FORMATS = frozenset(("eml", "mbox"))
ATTACHING_FORMATS = MAIL_FORMATS | {"pdf"}
"""Their members are attachments. The mail or the PDF itself is a document too."""
_ENDINGS = tuple(_FORMATS)
_LONGEST = max(map(len, _ENDINGS)) + 1


def find_format(name: str) -> str | None:
    """The format of an archive with this name: `zip`, `eml`, `mbox`, `pdf`, or the compression of a tar archive; None:
    it is no archive."""
    end = name[-_LONGEST:].lower()
    if not end.endswith(_ENDINGS):
        return None
    ending = max((each for each in _ENDINGS if end.endswith(each)), key=len)
    is_named = end.removesuffix(ending)[-1:] not in ("", "/")
    return _FORMATS[ending] if is_named else None


def find_nested_format(name: str) -> str | None:
    """The format of an archive within another one. A PDF there is a document only: all would have to be unpacked to see
    whether they have attachments."""
    found = find_format(name)
    return None if found == "pdf" else found


def may_have_archives(names: Iterable[str]) -> bool:
    """Whether one of these names may be that of an archive. Errs on that side."""
    text = "\n".join(names).lower()
    return any(ending in text for ending in _ENDINGS)


def is_hidden(name: str) -> bool:
    """Whether a member is left out as a hidden file is: a part of its path begins with a dot, or it is what macOS adds
    for itself."""
    parts = name.split("/")
    return any(part.startswith(".") and part not in (".", "..") for part in parts) or "__MACOSX" in parts


def quote_name(name: str) -> str:
    """The path of a member below its archive, as part of an id. It leads nowhere else: a leading slash is dropped, and
    `..` is quoted."""
    parts = ["%2E%2E" if part == ".." else quote_id(part) for part in name.split("/") if part not in ("", ".")]
    return "/".join(parts)


class UniqueNames:
    """Makes names unique: the second `a.pdf` is `a~2.pdf`."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """The last number in use, by name."""

    def make(self, name: str) -> str:
        """The name, or the next variant of it that is free."""
        found = name
        while found in self._numbers:
            self._numbers[name] += 1
            found = _add_number(name, self._numbers[name])
        self._numbers[found] = 1
        return found


def _add_number(name: str, number: int) -> str:
    folder, slash, last = name.rpartition("/")
    stem, dot, extension = last.rpartition(".")
    return f"{folder}{slash}{stem}~{number}{dot}{extension}" if dot and stem else f"{name}~{number}"
