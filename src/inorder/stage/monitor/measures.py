"""Sums of what the workers of a run report of their items with `ctx.measure`."""

from inorder.sinks.base import Entry
from inorder.stage.contracts import get_whole
from inorder.stage.manifest.entries import get_result

NAMES_MAX = 100
"""Distinct names that are summed up; further ones are dropped."""
GROUPS_MAX = 100
"""Distinct batch keys; the items of further ones are counted together."""
_OTHER = "(other)"
RETRIED_REQUESTS = "requests_retried"
"""The measure by which a worker reports requests that it has sent to a server again. Progress shows it."""


class MeasureSums:
    """Sums over the items that succeeded. Their size does not grow with the number of items."""

    def __init__(self) -> None:
        self.input_bytes = 0
        self.output_bytes = 0
        self.totals: dict[str, float] = {}
        self.groups: dict[str, dict[str, float]] = {}
        """By `batch_key`: number of items, time in workers, and the sums of the measures."""

    def record(self, entry: Entry) -> None:
        """Add an item that succeeded."""
        if entry.outputs:
            self.output_bytes += sum(output.size for output in entry.outputs)
        result = get_result(entry)
        if result is None:
            return
        is_part = bool(get_whole(entry.item))
        self.input_bytes += 0 if is_part else result.input_bytes  # the whole item reads the same
        key = entry.item.batch_key
        if not key and not result.measures:
            return
        group = self._get_group(key)
        group["items"] += not is_part
        group["exec_ms"] += entry.exec_ms
        for name, value in result.measures.items():
            if isinstance(value, str):
                continue
            for sums in (self.totals, group):
                if name in sums:
                    sums[name] += value
                elif len(sums) < NAMES_MAX:
                    sums[name] = value

    def summarize(self) -> dict[str, dict[str, float]]:
        """Return the groups, with rounded times."""
        groups = sorted(self.groups.copy().items())
        return {key: group | {"exec_ms": round(group["exec_ms"], 3)} for key, group in groups}

    def _get_group(self, key: str) -> dict[str, float]:
        if key not in self.groups and len(self.groups) >= GROUPS_MAX:
            key = _OTHER
        return self.groups.setdefault(key, {"items": 0, "exec_ms": 0.0})
