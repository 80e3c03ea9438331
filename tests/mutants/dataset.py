"""Bugs in reading and exporting DATA."""

from tests.mutants.mutant import Mutant

_EXPORT = "tests/dataset/test_export.py::"
_DATASET = "tests/dataset/test_dataset.py::"
_HISTORY = f"{_EXPORT}test_the_same_documents_give_the_same_bytes_whatever_the_history"
_KEPT = f"{_EXPORT}test_only_changed_shards_are_written"
_POWER = f"{_EXPORT}test_after_a_power_loss_at_any_operation_an_export_is_complete_or_has_no_manifest"
DATASET_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "all numbers of a signature are those of one run",
        "dataset/duplicates.py",
        " >> np.uint64(32)",
        " % np.uint64(1)",
        "tests/dataset/test_duplicates.py::test_many_different_documents_are_all_different",
    ),
    Mutant(
        "shards that an earlier export had and this one has not stay",
        "dataset/export/folder.py",
        "            if path not in places:",
        "            if not places:",
        f"{_EXPORT}test_shards_of_documents_that_are_gone_are_removed",
    ),
    Mutant(
        "a shard is taken for unchanged by the ids of its documents",
        "dataset/export/shards.py",
        r'f"\0{doc_id}\0{sha256}"',
        r'f"\0{doc_id}"',
        _HISTORY,
    ),
    Mutant(
        "shards end at their least size, so that every change moves all boundaries after it",
        "dataset/export/shards.py",
        "if size >= target_bytes / 2 and _is_boundary(result.doc_id, cost, target_bytes):",
        "if size >= target_bytes / 2:",
        "tests/dataset/test_shards.py::test_a_change_of_one_document_changes_at_most_a_few_shards",
    ),
    Mutant(
        "all shards are written every time",
        "dataset/export/folder.py",
        "entry = self._known.get(key)",
        "entry = None if self.is_begun is None else self._known.get(key[:8])",
        _KEPT,
    ),
    Mutant(
        "an altered shard is kept because its size is right",
        "dataset/export/folder.py",
        "if entry is not None and self._hash(path) == entry.sha256:",
        "if entry is not None:",
        f"{_EXPORT}test_a_shard_that_was_altered_is_written_again",
    ),
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
        '        return hashlib.sha256(content).hexdigest() not in known - {(self.read(_CARD_HASH) or b"").decode()}',
        _POWER,
    ),
    Mutant(
        "an export of data that a run changes mixes what was planned with what is there",
        "dataset/export/export.py",
        "        if key.finish() != shard.key:",
        "        if not key.finish():",
        f"{_EXPORT}test_a_document_that_a_run_changes_meanwhile_is_exported_as_it_is_then",
    ),
    Mutant(
        "documents of the store come before those in files, whatever their ids",
        "documents/layout.py",
        "for result in merge(stored, sorted(files), key=lambda each: each.doc_id):",
        "for result in [*stored, *files]:",
        f"{_DATASET}test_documents_in_both_layouts_come_in_one_order_and_the_store_wins",
    ),
)
