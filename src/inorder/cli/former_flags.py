"""Flags that have left the command line. They still work, hidden, with a warning. In version 0.4.0 this file goes, and
what uses it in `parameters.py` and `config.py`."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from inorder.cli.option_spec import OptionSpec
from inorder.cli.output import info

_GONE_IN = "0.4.0"


def warn_of_flags(options: Sequence[OptionSpec], given: Mapping[str, Any]) -> None:
    """Name the flags that were given, and their spelling with `--set`, in one line on stderr."""
    flags, settings = [], []
    for option in options:
        value = given[option.name]
        flags.append(option.spellings[0].split("/")[-1 if value is False else 0])
        text = value if isinstance(value, str) else option.type.format(value)
        settings.append(f"--set {shlex.quote(f'{option.name}={text}')}")
    if options:
        warn(", ".join(flags), " ".join(settings))


def warn(former: str, now: str) -> None:
    """Say how to write what is on the command line."""
    info(f"inorder: warning: {former} will be gone in version {_GONE_IN}; write {now}")
