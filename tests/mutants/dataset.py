"""Bugs in the order of durable operations of an export."""

from tests.mutants.mutant import Mutant

_POWER = (
    "tests/dataset/test_export.py::test_after_a_power_loss_at_any_operation_an_export_is_complete_or_has_no_manifest"
)

DATASET_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the manifest stays while shards are replaced",
        "dataset/export/folder.py",
        "        if not self.is_begun:",
        "        if self.is_begun is None:",
        _POWER,
    ),
    Mutant(
        "a shard is not synced before it is published",
        "dataset/export/writing.py",
        "        self._file.sync()\n",
        "",
        _POWER,
    ),
    Mutant(
        "the hash of the card is not remembered before it is written",
        "dataset/export/folder.py",
        "        return hashlib.sha256(content).hexdigest() not in known",
        "        return hashlib.sha256(content).hexdigest() not in known - set(self._read_card_hashes())",
        _POWER,
    ),
)
