"""Bugs in what items, plans, inputs and models are known by."""

from tests.mutants.mutant import Mutant

_STAGE = "tests/stage/test_identity.py"
_DOCUMENTS = "tests/documents/test_identity.py"
_PARTS = f"{_STAGE}::test_the_parts_of_a_digest_do_not_run_together"
_ITEM = f"{_STAGE}::test_an_item_is_known_by_its_id_its_configuration_and_its_outputs"
_CHUNKS = f"{_DOCUMENTS}::test_chunks_depend_on_every_setting_of_the_step"
_MODEL = f"{_DOCUMENTS}::test_dense_vectors_depend_on_the_model"

IDENTITY_MUTANTS: tuple[Mutant, ...] = (
    # ---- items, plans and inputs
    Mutant(
        "the names of inputs are not part of their hash",
        "stage/fingerprints.py",
        'f"{name}\\0{digest}\\n" for name, digest in sorted(hashes.items())',
        'f"{digest}\\n" for digest in sorted(hashes.values())',
        f"{_STAGE}::test_inputs_that_swap_their_names_are_other_inputs",
    ),
    Mutant(
        "the configuration is not part of the hash of a plan",
        "stage/plan_identity.py",
        'return hash_strings(*(f"{item.item_id}\\x00{item.cfg_hash}" for',
        'return hash_strings(*(f"{item.item_id}" for',
        f"{_STAGE}::test_a_plan_is_known_by_the_ids_and_configurations_of_its_items",
    ),
    Mutant(
        "outputs are not part of the identity of an item",
        "stage/plan_identity.py",
        "{item.cfg_hash}\\x00{outputs}",
        "{item.cfg_hash}",
        _ITEM,
    ),
    Mutant(
        "the names of outputs are not part of the identity of an item",
        "stage/plan_identity.py",
        'f"{name}={os.fspath(path)}" for name, path in item.outputs.items()',
        "os.fspath(path) for path in item.outputs.values()",
        _ITEM,
    ),
    Mutant(
        "id and configuration of an item run together",
        "stage/plan_identity.py",
        'return f"{item.item_id}\\x00{item.cfg_hash}',
        'return f"{item.item_id}{item.cfg_hash}',
        _PARTS,
    ),
    Mutant(
        "the items of a digest run together",
        "runtime/identity.py",
        'self._hash.update(b"%d:%b" % (len(identity), identity))',
        "self._hash.update(identity)",
        _PARTS,
    ),
    Mutant(
        "the strings of a hash run together",
        "runtime/identity.py",
        '"\\x00".join(parts)',
        '"".join(parts)',
        _PARTS,
    ),
    Mutant(
        "the stat of a file is remembered as after hashing",
        "stage/freshness.py",
        '        cache.put(path, found, "sha256", digest)\n',
        '        cache.put(path, FileStat.read(path), "sha256", digest)\n',
        f"{_STAGE}::test_a_hash_is_stored_with_the_stat_from_before_the_file_was_read",
    ),
    Mutant(
        "the stat of an input is read after it was hashed",
        "stage/worker.py",
        "        before = {name: FileStat.read(path) for name, path in files.items()}\n"
        "        context.stats = {**before, **task.stats}\n"
        "        hashes = self._hash_inputs(item)\n",
        "        hashes = self._hash_inputs(item)\n"
        "        before = {name: FileStat.read(path) for name, path in files.items()}\n"
        "        context.stats = {**before, **task.stats}\n",
        f"{_STAGE}::test_an_input_that_changes_between_its_hash_and_its_worker_is_not_taken_for_what_was_hashed",
    ),
    Mutant(
        "the cache of hashes does not sync its log",
        "stage/files/hash_cache.py",
        "PRAGMA synchronous=NORMAL",
        "PRAGMA synchronous=OFF",
        "tests/stage/test_hash_cache_power.py",
    ),
    Mutant(
        "a fingerprint is removed after its outputs",
        "stage/fingerprints.py",
        "for path in (locate_fingerprint(outputs), *outputs.values()):",
        "for path in (*outputs.values(), locate_fingerprint(outputs)):",
        f"{_STAGE}::test_the_fingerprint_of_an_item_is_removed_before_its_outputs",
    ),
    # ---- chunks
    Mutant(
        "the smallest chunk is not part of the configuration",
        "documents/chunk/settings.py",
        '        "tokens_min": str(settings.resolved_tokens_min),\n',
        "",
        _CHUNKS,
    ),
    Mutant(
        "the bytes of a tokenizer are not part of the configuration",
        "documents/chunk/settings.py",
        'return f"hf:{hashlib.sha256(read_regular(path)).hexdigest()}"',
        "return f\"hf:{read_regular(path) != b''}\"",
        f"{_DOCUMENTS}::test_chunks_depend_on_the_bytes_of_a_tokenizer_file_and_not_on_its_path",
    ),
    # ---- vectors
    Mutant(
        "the model of a server is not part of the configuration of vectors",
        "documents/embed/providers/registry.py",
        'return f"{kind} {detail}"',
        "return f\"{kind} {detail.partition('#')[0]}\"",
        _MODEL,
    ),
    Mutant(
        "the content of a model folder is not part of its identity",
        "documents/embed/providers/fingerprint.py",
        "\\0{stat.size}\\0{content}\\n",
        "\\0{stat.size}\\n",
        _MODEL,
    ),
    # ---- the index
    Mutant(
        "another grammar does not redo a file",
        "index/step.py",
        '"grammar": grammar_version(language)',
        '"grammar": language',
        f"{_DOCUMENTS}::test_another_grammar_redoes_the_files_of_its_language_and_no_others",
    ),
)
