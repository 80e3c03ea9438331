"""Keys of `--set KEY=VALUE`: the names of options in `inorder.toml`, and `STEP.NAME` for the table `[stage.STEP]`."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from inorder.cli.option_spec import OptionSpec
from inorder.cli.option_types import InvalidValue
from inorder.cli.options import ALL
from inorder.cli.step_options import OWN
from inorder.errors import OperatorError, require

TIMEOUT = "timeout_s"
"""The option of all runs that a step may have a value of its own for."""
LIST = "`inorder config keys` lists all"


def list_step_keys(steps: Iterable[str]) -> dict[str, OptionSpec]:
    """Return the keys that set an option for one step alone."""
    return {f"{step}.{name}": ALL[name] for step in steps for name in (*OWN.get(step, ()), TIMEOUT)}


def read_assignments(texts: Sequence[str], keys: Mapping[str, OptionSpec]) -> dict[str, str]:
    """Return the values of `--set` by key. The last one of a key counts. Raises OperatorError for a key that is not
    among `keys`, and for a value that its option does not accept."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        require(bool(key and equals), f"--set takes KEY=VALUE, as in --set workers=4; got {text!r}")
        require(key in keys or key not in ALL, f"this command does not use {key}; omit --set {key}")
        require(key in keys, f"--set has no key {key!r}{suggest(key, keys)}")
        try:
            keys[key].type.parse(value)
        except InvalidValue:
            raise OperatorError(f"--set {key} must be {keys[key].type.allowed}; got {value!r}") from None
        found[key] = value
    return found


def suggest(name: str, keys: Collection[str]) -> str:
    """Return the end of a message about an unknown key: what it resembles, or where all are listed."""
    from difflib import get_close_matches  # a mistake is rare, and the module is not needed otherwise

    wanted = name.lower().replace("-", "_")
    close = get_close_matches(wanted, keys, n=3, cutoff=0.7) or [key for key in keys if wanted and wanted in key][:3]
    return f"; did you mean {' or '.join(close)}? {LIST}" if close else f"; {LIST}"
