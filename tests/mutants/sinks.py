"""Bugs in the sinks."""

from tests.mutants.mutant import Mutant

_CALLS = "tests/host/test_system_calls.py"
_MANY = f"{_CALLS}::test_many_files_become_durable_in_one_call"
_FEW = f"{_CALLS}::test_files_are_published_by_a_rename_and_become_durable_with_their_folders"

SINKS_MUTANTS: tuple[Mutant, ...] = (
    # ---- files
    Mutant(
        "many files are synced by doing nothing",
        "sinks/outputs.py",
        "        self._filesystem.sync_all(self._root)\n",
        "",
        _MANY,
    ),
    Mutant(
        "a published file is not synced",
        "sinks/outputs.py",
        "            file.sync()\n",
        "            pass\n",
        _FEW,
    ),
    Mutant(
        "the folder of a published file is not synced",
        "sinks/outputs.py",
        "            self._filesystem.sync_directory(self._full_path(folder))\n",
        "            pass\n",
        _FEW,
    ),
)
