"""Types of option values. The same type reads a command line, an environment variable and `inorder.toml`."""

import math
import re
from typing import Any

from inorder.host.credentials import hide_credentials
from inorder.host.spelling import find_spelled
from inorder.targets.address import has_scheme

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class InvalidValue(Exception):
    """A value that an option does not accept."""


class OptionType:
    """The values that an option accepts. `none` is the word for None, if None is allowed."""

    metavar = ""
    """What help calls a value."""
    unit: str | None = None
    """What a value is measured in; None: it is no number. Empty: that depends on the option."""
    _kind = ""

    def __init__(self, none: str = "") -> None:
        self._none = none

    @property
    def allowed(self) -> str:
        """The accepted values, in words that follow "must be"."""
        return self._kind + (f", or {self._none}" if self._none else "")

    def parse(self, found: Any) -> Any:
        """Convert text, or a value of a TOML file. Raises `InvalidValue`."""
        return None if self._none and found == self._none else self.parse_value(found)

    def parse_value(self, found: Any) -> Any:
        """Convert what is not None."""
        raise NotImplementedError

    def format(self, value: Any) -> str:
        """The text that `parse` would read as this value."""
        return self._none if value is None else self.format_value(value)

    def format_value(self, value: Any) -> str:
        """The text for what is not None."""
        return str(value)


class TextType(OptionType):
    """Any text that is not empty."""

    metavar = "TEXT"
    _kind = "text"

    def parse_value(self, found: Any) -> str:
        if not isinstance(found, str) or not found:
            raise InvalidValue
        return found


class PathType(TextType):
    """A path, as it is or in its spelling."""

    _kind = "a path"

    def parse_value(self, found: Any) -> str:
        return find_spelled(super().parse_value(found))


class AddressType(TextType):
    """The address of a target, without its credentials: see `inorder.host.credentials`."""

    _kind = "an address, as in postgresql://host/database"

    def parse_value(self, found: Any) -> str:
        if not isinstance(found, str) or not has_scheme(found):
            raise InvalidValue
        return hide_credentials(found)


class ProviderType(TextType):
    """A provider of vectors. The credentials in the address of a server are not part of the value."""

    def parse_value(self, found: Any) -> str:
        return hide_credentials(super().parse_value(found))


class ChoiceType(OptionType):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = words
        self.metavar = "|".join(words)
        self._kind = "one of " + ", ".join(words)

    def parse_value(self, found: Any) -> str:
        if found not in self.words:
            raise InvalidValue
        return str(found)


class FlagType(OptionType):
    """True or false."""

    _kind = "true or false"

    def parse_value(self, found: Any) -> bool:
        if isinstance(found, bool):
            return found
        if isinstance(found, str) and found.lower() in _TRUE + _FALSE:
            return found.lower() in _TRUE
        raise InvalidValue

    def format_value(self, value: bool) -> str:
        return str(value).lower()


class IntegerType(OptionType):
    """A whole number within bounds."""

    def __init__(self, low: int, high: int, none: str = "", unit: str = "") -> None:
        super().__init__(none)
        self.unit, self.metavar = unit, unit.upper() or "N"
        self._low, self._high = low, high
        self._kind = f"a whole number from {low} to {high}"

    def parse_value(self, found: Any) -> int:
        if isinstance(found, str) and re.fullmatch(r"-?[0-9]{1,18}", found):
            found = int(found)
        if type(found) is not int or not self._low <= found <= self._high:
            raise InvalidValue
        return found


class NumberType(OptionType):
    """A number that is not negative."""

    _kind = "a number, 0 or more"

    def __init__(self, none: str = "", unit: str = "") -> None:
        super().__init__(none)
        self.unit, self.metavar = unit, unit.upper() or "N"

    def parse_value(self, found: Any) -> float:
        try:
            value = float(found) if not isinstance(found, bool) else -1.0
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue from None
        if not 0 <= value < math.inf:
            raise InvalidValue
        return value

    def format_value(self, value: float) -> str:
        return f"{value:.15g}"


class SecondsType(NumberType):
    """A duration."""

    _kind = "a number of seconds, 0 or more"

    def __init__(self) -> None:
        super().__init__(unit="seconds")


class NamedNumbersType(OptionType):
    """Numbers by name: `disk=1,licence=0.5`, or `none`."""

    metavar = "NAME=N,..."
    _kind = "names with numbers, such as disk=1,licence=0.5, or none"

    def parse_value(self, found: Any) -> dict[str, float]:
        if found == "none":
            return {}
        if isinstance(found, str):
            pairs = [part.partition("=") for part in found.split(",") if part.strip()]
            found = {name.strip(): amount.strip() for name, _, amount in pairs}
        if not isinstance(found, dict) or not all(found):
            raise InvalidValue
        return {name: NumberType().parse_value(amount) for name, amount in found.items()}

    def format_value(self, value: dict[str, float]) -> str:
        return ",".join(f"{name}={amount:.15g}" for name, amount in value.items()) or "none"


class SizeType(OptionType):
    """A number of bytes: `512M`, `4G`."""

    metavar = "SIZE"
    unit = "bytes"
    _kind = "a size such as 512M or 4G"

    def parse_value(self, found: Any) -> int:
        matched = _SIZE.fullmatch(str(found)) if isinstance(found, str | int) and not isinstance(found, bool) else None
        size = float(matched[1]) * _UNITS[matched[2].lower()] if matched else 0.0
        if not 1 <= size < math.inf:
            raise InvalidValue
        return int(size)

    def format_value(self, value: int) -> str:
        unit, factor = next((unit, factor) for unit, factor in reversed(_UNITS.items()) if value % factor == 0)
        return f"{value // factor}{unit.upper()}"
