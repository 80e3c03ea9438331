"""Types of option values. The same type reads a command line, an environment variable and `inorder.toml`."""

import math
import re
from typing import Any, Protocol

from inorder.targets.address import has_scheme, hide_secrets

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class InvalidValue(Exception):
    """A value that an option does not accept."""


class OptionType(Protocol):
    """The values that an option accepts."""

    @property
    def allowed(self) -> str:
        """The accepted values, in words that follow "must be"."""
        ...

    def parse(self, found: Any) -> Any:
        """Convert text, or a value of a TOML file. Raises `InvalidValue`."""
        ...

    def format(self, value: Any) -> str:
        """The text that `parse` would read as this value."""
        ...


class TextType:
    """Any text that is not empty. `none` is the word for None, if None is allowed."""

    def __init__(self, none: str = "") -> None:
        self._none = none

    @property
    def allowed(self) -> str:
        return "text" + (f", or {self._none}" if self._none else "")

    def parse(self, found: Any) -> str | None:
        if not isinstance(found, str) or not found:
            raise InvalidValue
        return found if not self._none or found != self._none else None

    def format(self, value: str | None) -> str:
        return self._none if value is None else str(value)


class AddressType(TextType):
    """The address of a target. Secrets in it are not part of the value: see `inorder.targets.address`."""

    allowed = "an address, as in postgresql://host/database"

    def parse(self, found: Any) -> str | None:
        if not isinstance(found, str) or not has_scheme(found):
            raise InvalidValue
        return hide_secrets(found)


class ChoiceType:
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(self.words)

    def parse(self, found: Any) -> str:
        if found not in self.words:
            raise InvalidValue
        return str(found)

    def format(self, value: str) -> str:
        return value


class FlagType:
    """True or false."""

    allowed = "true or false"

    def parse(self, found: Any) -> bool:
        if isinstance(found, bool):
            return found
        if isinstance(found, str) and found.lower() in _TRUE + _FALSE:
            return found.lower() in _TRUE
        raise InvalidValue

    def format(self, value: bool) -> str:
        return str(value).lower()


class IntegerType:
    """A whole number within bounds. `none` is the word for None, if None is allowed."""

    def __init__(self, low: int, high: int, none: str = "") -> None:
        self._low, self._high = low, high
        self._none = none

    @property
    def allowed(self) -> str:
        return f"a whole number from {self._low} to {self._high}" + (f", or {self._none}" if self._none else "")

    def parse(self, found: Any) -> int | None:
        if self._none and found == self._none:
            return None
        if isinstance(found, str) and re.fullmatch(r"-?[0-9]{1,18}", found):
            found = int(found)
        if type(found) is not int or not self._low <= found <= self._high:
            raise InvalidValue
        return found

    def format(self, value: int | None) -> str:
        return self._none if value is None else str(value)


class NumberType:
    """A number that is not negative. `none` is the word for None, if None is allowed."""

    _kind = "a number, 0 or more"

    def __init__(self, none: str = "") -> None:
        self._none = none

    @property
    def allowed(self) -> str:
        return self._kind + (f", or {self._none}" if self._none else "")

    def parse(self, found: Any) -> float | None:
        if self._none and found == self._none:
            return None
        return self.parse_number(found)

    def parse_number(self, found: Any) -> float:
        """Convert text or a number of a TOML file."""
        try:
            value = float(found) if not isinstance(found, bool) else -1.0
        except (TypeError, ValueError):
            raise InvalidValue from None
        if not 0 <= value < math.inf:
            raise InvalidValue
        return value

    def format(self, value: float | None) -> str:
        return self._none if value is None else f"{value:.15g}"


class SecondsType(NumberType):
    """A duration."""

    _kind = "a number of seconds, 0 or more"


class NamedNumbersType:
    """Numbers by name: `disk=1,licence=0.5`, or `none`."""

    allowed = "names with numbers, such as disk=1,licence=0.5, or none"

    def parse(self, found: Any) -> dict[str, float]:
        if found == "none":
            return {}
        if isinstance(found, str):
            pairs = [part.partition("=") for part in found.split(",") if part.strip()]
            found = {name.strip(): amount.strip() for name, _, amount in pairs}
        if not isinstance(found, dict) or not all(found):
            raise InvalidValue
        return {name: NumberType().parse_number(amount) for name, amount in found.items()}

    def format(self, value: dict[str, float]) -> str:
        return ",".join(f"{name}={amount:.15g}" for name, amount in value.items()) or "none"


class SizeType:
    """A number of bytes: `512M`, `4G`. `none` is the word for None, if None is allowed."""

    def __init__(self, none: str = "") -> None:
        self._none = none

    @property
    def allowed(self) -> str:
        return "a size such as 512M or 4G" + (f", or {self._none}" if self._none else "")

    def parse(self, found: Any) -> int | None:
        if self._none and found == self._none:
            return None
        matched = _SIZE.fullmatch(str(found)) if isinstance(found, str | int) and not isinstance(found, bool) else None
        size = int(float(matched[1]) * _UNITS[matched[2].lower()]) if matched else 0
        if size < 1:
            raise InvalidValue
        return size

    def format(self, value: int | None) -> str:
        if value is None:
            return self._none
        unit, factor = next((unit, factor) for unit, factor in reversed(_UNITS.items()) if value % factor == 0)
        return f"{value // factor}{unit.upper()}"
