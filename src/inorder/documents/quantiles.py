"""Exact quantiles of counted values."""

from collections.abc import Mapping


def find_quantile(counts: Mapping[int, int], share: float) -> int:
    """The smallest value that at least this share of all values does not exceed; 0 without values. `counts` has the
    number of times that each value occurs.

    >>> find_quantile({10: 9, 500: 1}, 0.95)
    500
    """
    wanted, seen = share * sum(counts.values()), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return 0
