"""Bugs in reading and exporting DATA."""

from tests.mutants.mutant import Mutant

_EXPORT = "tests/dataset/test_export.py::"
_DATASET = "tests/dataset/test_dataset.py::"
_HISTORY = f"{_EXPORT}test_the_same_documents_give_the_same_bytes_whatever_the_history"
_KEPT = f"{_EXPORT}test_only_changed_shards_are_written"
_STORE = "tests/dataset/test_export_store.py::"
_COMPLETE = f"{_STORE}test_a_reader_who_follows_the_manifest_finds_a_complete_export_after_each_operation"
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
        "        return hashlib.sha256(content).hexdigest() not in known - set(self._read_card_hashes())",
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
        "tables of an export are those of different moments",
        "dataset/export/export.py",
        "_read_versions(self._reader, tables) != versions:",
        "_read_versions(self._reader, tables) != versions and not tables:",
        "tests/dataset/test_export_during_runs.py::test_tables_that_a_run_changes_meanwhile_are_exported_again[file]",
    ),
    Mutant(
        "objects that no longer belong are removed before the manifest is replaced",
        "dataset/export/stored.py",
        "        if manifest != self.previous:\n",
        "        self._remove_others(manifest)\n        if manifest != self.previous:\n",
        _COMPLETE,
    ),
    Mutant(
        "a shard with other content gets the name of the one before",
        "dataset/export/stored.py",
        "entry.sha256[:_HASH_LENGTH]",
        "'0' * _HASH_LENGTH",
        _COMPLETE,
    ),
    Mutant(
        "a shard that was uploaded is uploaded again after an interruption",
        "dataset/export/stored.py",
        "self._known.get(key) or self._read_entry(key)",
        "self._known.get(key)",
        _COMPLETE,
    ),
    Mutant(
        "an object that was cut is taken for complete",
        "dataset/export/stored.py",
        "        if entry is None or self._objects.get(entry.path) != entry.bytes:",
        "        if entry is None or entry.path not in self._objects:",
        f"{_STORE}test_an_object_that_is_gone_or_was_cut_is_uploaded_again",
    ),
    Mutant(
        "only the last card that an interrupted export has written is known",
        "dataset/export/stored.py",
        '"\\n".join([*begun, card_sha256])',
        "card_sha256",
        f"{_STORE}test_a_card_that_an_interrupted_export_has_written_is_not_taken_for_an_edited_one",
    ),
    Mutant(
        "a manifest is written without the lease",
        "dataset/export/stored.py",
        "            self._lease.check()\n            self._write(NAME",
        "            self._write(NAME",
        f"{_STORE}TestLease::test_a_holder_that_lost_its_lease_writes_no_manifest",
    ),
    Mutant(
        "both of two that begin at once get the lease",
        "dataset/export/lease.py",
        "        if not is_created or",
        "        if",
        f"{_STORE}TestLease::test_one_of_two_that_begin_at_once_wins",
    ),
    Mutant(
        "a lease of another machine is taken over while its holder lives",
        "dataset/export/lease.py",
        "found.is_local() or found != first",
        "found.is_local()",
        f"{_STORE}TestLease::test_the_lease_of_another_machine_that_lives_is_not",
    ),
    Mutant(
        "the lease of a killed process of this machine is waited for",
        "dataset/export/lease.py",
        " and not found.is_dead():",
        ":",
        f"{_STORE}TestLease::test_the_lease_of_a_killed_process_of_this_machine_is_taken_over_at_once",
    ),
    Mutant(
        "a store that is busy is asked once",
        "files/object_store.py",
        "if attempt == _ATTEMPTS or",
        "if attempt or",
        f"{_STORE}test_a_store_that_is_busy_is_asked_again",
    ),
)
