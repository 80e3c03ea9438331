"""What the value of an option may be, wherever it comes from: a command line, a variable, a file."""

import math
import re
from typing import Any, Protocol

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class Refused(Exception):
    """A value that an option cannot have."""


class Kind(Protocol):
    """The values of an option."""

    @property
    def allowed(self) -> str:
        """Which they are, to follow on "must be"."""
        ...

    def read(self, found: Any) -> Any:
        """The value itself, from text or from a value of a settings file. Raises `Refused`."""
        ...


class Text:
    """Any text; or None, where there is a word for it."""

    def __init__(self, none: str = "") -> None:
        self.none = none

    @property
    def allowed(self) -> str:
        """Not much to say."""
        return "text" + (f", or {self.none}" if self.none else "")

    def read(self, found: Any) -> str | None:
        """As it is."""
        if not isinstance(found, str) or not found:
            raise Refused
        return found if not self.none or found != self.none else None


class Choice:
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def allowed(self) -> str:
        """The words."""
        return "one of " + ", ".join(self.words)

    def read(self, found: Any) -> str:
        """The word."""
        if found not in self.words:
            raise Refused
        return str(found)


class Flag:
    """Yes or no."""

    allowed = "true or false"

    def read(self, found: Any) -> bool:
        """The answer."""
        if isinstance(found, bool):
            return found
        if isinstance(found, str) and found.lower() in _TRUE + _FALSE:
            return found.lower() in _TRUE
        raise Refused


class Whole:
    """A whole number; or None, where there is a word for it."""

    def __init__(self, low: int, high: int, none: str = "") -> None:
        self._low, self._high = low, high
        self.none = none

    @property
    def allowed(self) -> str:
        """The range."""
        return f"a whole number from {self._low} to {self._high}" + (f", or {self.none}" if self.none else "")

    def read(self, found: Any) -> int | None:
        """The number."""
        if self.none and found == self.none:
            return None
        if isinstance(found, str) and re.fullmatch(r"-?[0-9]{1,18}", found):
            found = int(found)
        if type(found) is not int or not self._low <= found <= self._high:
            raise Refused
        return found


class Amount:
    """A number that need not be whole."""

    allowed = "a number, 0 or more"

    def read(self, found: Any) -> float:
        """The number."""
        try:
            value = float(found) if not isinstance(found, bool) else -1.0
        except (TypeError, ValueError):
            raise Refused from None
        if not 0 <= value < math.inf:
            raise Refused
        return value


class Seconds(Amount):
    """A span of time."""

    allowed = "a number of seconds, 0 or more"


class Amounts:
    """Numbers by name; there may be none."""

    none = "none"
    allowed = "names with numbers, such as disk=1,licence=0.5, or none"

    def read(self, found: Any) -> dict[str, float]:
        """The numbers."""
        if found == self.none:
            return {}
        if isinstance(found, str):
            pairs = [part.partition("=") for part in found.split(",") if part.strip()]
            found = {name.strip(): amount.strip() for name, _, amount in pairs}
        if not isinstance(found, dict) or not all(found):
            raise Refused
        return {name: Amount().read(amount) for name, amount in found.items()}


class Size:
    """A number of bytes; or None, where there is a word for it."""

    def __init__(self, none: str = "") -> None:
        self.none = none

    @property
    def allowed(self) -> str:
        """With an example."""
        return "a size such as 512M or 4G" + (f", or {self.none}" if self.none else "")

    def read(self, found: Any) -> int | None:
        """The bytes."""
        if self.none and found == self.none:
            return None
        matched = _SIZE.fullmatch(str(found)) if isinstance(found, str | int) and not isinstance(found, bool) else None
        size = int(float(matched[1]) * _UNITS[matched[2].lower()]) if matched else 0
        if size < 1:
            raise Refused
        return size
