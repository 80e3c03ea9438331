"""Names split into what people search for: `parseHTTPHeader` is found by `parse`, `http` and `header`."""

import re
from itertools import chain

NAME_CHARACTERS_MAX = 80
"""What is longer is data, such as a key in base 64, and nobody types it."""
_CACHED_NAMES_MAX = 1 << 15
"""Names repeat within a repository; this many take a few megabytes."""
_NAME = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ASCII_BETWEEN_NAMES = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def identifiers(text: str) -> str:
    """Every name in a text, each followed by its parts, in lower case, each word once, with spaces between."""
    # For plain English text, which nearly all code is, this is three times as fast as a regular expression.
    found = text.translate(_ASCII_BETWEEN_NAMES).split() if text.isascii() else _NAME.findall(text)
    return " ".join(dict.fromkeys(chain.from_iterable(map(_WORDS.__getitem__, dict.fromkeys(found)))))


class _Words(dict[str, tuple[str, ...]]):
    """The words of each name, worked out once. Emptied when it is full: the names at hand are soon back."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if len(self) >= _CACHED_NAMES_MAX:
            self.clear()
        self[name] = words = _words(name)
        return words


_WORDS = _Words()


def _words(name: str) -> tuple[str, ...]:
    if name[0].isdigit() or len(name) > NAME_CHARACTERS_MAX:
        return ()
    parts = _PART.findall(name) if name.isascii() else name.split("_")
    if len(parts) == 1 and parts[0] == name:
        return (name.lower(),)
    return (name.lower(), *(part.lower() for part in parts if len(part) > 1))
