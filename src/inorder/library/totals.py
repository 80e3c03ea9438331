"""Totals of what is visible: counts, the statistics of each family, and the content hash.

They are sums over results, so they follow every change without reading anything else, and do not depend on the order of
changes. What will be visible at a later epoch is kept as a difference, and added when that epoch is published.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from inorder.documents.quantiles import find_quantile

_HASH_BYTES = 32
_MODULUS = 1 << (8 * _HASH_BYTES)
NORM_SCALE = 1000
"""Lengths of vectors are counted in steps of 1/1000."""
_DIGITS = 4
"""Digits of norms and averages. The last digits of a model's vectors may depend on the other texts of a batch."""
_FENCE = 1.5
"""An outlier is this many times the distance between the quartiles below the first or above the third."""


class FamilySummary(msgspec.Struct, array_like=True):
    """What the vectors of a file contribute to the statistics of their family."""

    vectors: int
    width: int = 0
    spec: str = ""
    """How to open the provider again."""
    norms: dict[int, int] = {}
    """How many vectors have a length, in steps of 1/`NORM_SCALE`."""
    terms: dict[int, int] = {}
    """How many vectors have so many terms with a weight, of a sparse or lexical family."""


class Totals(msgspec.Struct, array_like=True):
    """Sums over visible results, or the difference of two such sums."""

    content: bytes = bytes(_HASH_BYTES)
    """The sum of the hashes of all results."""
    counts: dict[str, int] = {}

    @property
    def content_hash(self) -> str:
        """What identifies the visible content: it is the same for the same results, in whatever order they came."""
        return self.content.hex()


_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_DECODER = msgspec.msgpack.Decoder(Totals)


def hash_result(item_id: str, step: str, output: bytes) -> int:
    """Return the hash of one result, to be added to others."""
    name = f"{item_id}\0{step}\0".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(name + output, digest_size=_HASH_BYTES).digest())


def count_norms(norms: Iterable[float]) -> dict[int, int]:
    """Return how many vectors have each length, in steps of 1/`NORM_SCALE`."""
    return dict(Counter([round(norm * NORM_SCALE) for norm in norms]))


def count_family(step: str, summary: FamilySummary) -> dict[str, int]:
    """Return what a summary adds to the counts of a family."""
    counts = {f"{step}/documents": 1, f"{step}/vectors": summary.vectors}
    if summary.width:
        counts[f"{step}/width/{summary.width}"] = 1
    if summary.spec:
        counts[f"{step}/spec/{summary.spec}"] = 1
    for name, found in (("norm", summary.norms), ("terms", summary.terms)):
        for value, count in found.items():
            counts[f"{step}/{name}/{value}"] = count
    return counts


def summarize_families(counts: Mapping[str, int], steps: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the totals of all vectors of each family that has some, by step: documents, vectors, dimensions,
    providers, and how the lengths of vectors (`norms`) and their numbers of terms (`nnz`) are spread. `counts` are
    those of `Totals`."""
    found = {step: _summarize_family(counts, f"{step}/") for step in steps}
    return {step: summary for step, summary in found.items() if summary["documents"]}


def _summarize_family(counts: Mapping[str, int], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: counts.get(f"{prefix}{name}", 0) for name in ("documents", "vectors")}
    values = {name: _select(counts, f"{prefix}{name}/") for name in ("width", "spec", "terms", "norm")}
    if values["width"]:
        found["dimensions"] = max(map(int, values["width"]))
    if values["spec"]:
        found["providers"] = sorted(values["spec"])
    if values["terms"]:
        terms = {int(value): count for value, count in values["terms"].items()}
        quantiles = {"p95": find_quantile(terms, 0.95), "p99": find_quantile(terms, 0.99)}
        found["nnz"] = {"avg": round(_average(terms), _DIGITS), **quantiles}
    if values["norm"]:
        found["norms"] = _summarize_norms({int(value): count for value, count in values["norm"].items()})
    return found


def _select(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}


def _average(counts: Mapping[int, int]) -> float:
    return sum(value * count for value, count in counts.items()) / sum(counts.values())


def _summarize_norms(norms: Mapping[int, int]) -> dict[str, float]:
    low, high = find_quantile(norms, 0.25), find_quantile(norms, 0.75)
    reach = _FENCE * (high - low)
    found = {
        "min": min(norms),
        "avg": round(_average(norms), _DIGITS),
        "max": max(norms),
        "p95": find_quantile(norms, 0.95),
        "p99": find_quantile(norms, 0.99),
    }
    outliers = sum(count for norm, count in norms.items() if not low - reach <= norm <= high + reach)
    return {name: round(value / NORM_SCALE, _DIGITS) for name, value in found.items()} | {"outliers": outliers}


def count_rows(kind: str, language: str, chunks: int) -> dict[str, int]:
    """Return what an indexed file adds to the counts: nothing, if it has no text to be found by."""
    if not chunks:
        return {}
    counts = {f"files/{kind}": 1, f"chunks/{kind}": chunks}
    if language:
        counts[f"language/{kind}/{language}"] = 1
    return counts


class PendingTotals:
    """The differences that a transaction makes to the totals of each epoch."""

    def __init__(self) -> None:
        self._content: dict[int, int] = {}
        self._counts: dict[int, dict[str, int]] = {}

    def add(self, epoch: int, content: int, counts: Mapping[str, int], times: int) -> None:
        """Add a result to those that are visible from an epoch on, or, with `times` -1, remove it."""
        self._content[epoch] = self._content.get(epoch, 0) + content * times
        known = self._counts.setdefault(epoch, {})
        for name, count in counts.items():
            known[name] = known.get(name, 0) + count * times

    def store(self, connection: sqlite3.Connection) -> None:
        """Write the differences, beside those of earlier transactions."""
        for epoch, counts in self._counts.items():
            found = read_difference(connection, epoch)
            write_totals(connection, epoch, _sum(found, self._content[epoch], counts))
        self._content.clear()
        self._counts.clear()


def read_difference(connection: sqlite3.Connection, epoch: int) -> Totals:
    """Return what changes with an epoch; for the present one, the totals."""
    row = connection.execute("SELECT data FROM totals WHERE epoch = ?", (epoch,)).fetchone()
    return Totals() if row is None else _DECODER.decode(row[0])


def write_totals(connection: sqlite3.Connection, epoch: int, totals: Totals) -> None:
    """Write what changes with an epoch."""
    connection.execute("INSERT OR REPLACE INTO totals VALUES (?, ?)", (epoch, _ENCODER.encode(totals)))


def advance_totals(connection: sqlite3.Connection, epoch: int) -> Totals:
    """Add all differences up to an epoch, and return the totals at it."""
    rows = connection.execute("SELECT data FROM totals WHERE epoch <= ? ORDER BY epoch", (epoch,)).fetchall()
    totals = Totals()
    for (data,) in rows:
        found = _DECODER.decode(data)
        totals = _sum(totals, int.from_bytes(found.content), found.counts)
    connection.execute("DELETE FROM totals WHERE epoch <= ?", (epoch,))
    write_totals(connection, epoch, totals)
    return totals


def _sum(totals: Totals, content: int, counts: Mapping[str, int]) -> Totals:
    joined = Counter(totals.counts)
    for name, count in counts.items():
        joined[name] += count
    value = (int.from_bytes(totals.content) + content) % _MODULUS
    return Totals(value.to_bytes(_HASH_BYTES), {name: count for name, count in joined.items() if count})
