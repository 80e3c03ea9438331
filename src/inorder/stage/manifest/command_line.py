"""The command line of a run, as manifests and reports have it: without passwords."""

import re
from collections.abc import Sequence

_HIDDEN = "***"
_PASSWORD = re.compile(r"(://[^/?#@:]*:)[^/?#]*@")
_PARAMETER = re.compile(
    r"([?&][^=&#]*(?:pass|secret|token|credential|signature|key|\bsig)[^=&#]*=)[^&#]*",
    re.IGNORECASE,
)
"""A parameter of an address whose name says that it gives access to something."""


def hide_passwords(arguments: Sequence[str]) -> list[str]:
    """The arguments, with `***` for the passwords in addresses."""
    return [
        _PARAMETER.sub(rf"\1{_HIDDEN}", _PASSWORD.sub(rf"\1{_HIDDEN}@", argument)) if "://" in argument else argument
        for argument in arguments
    ]
