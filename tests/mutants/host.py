"""Bugs in the filesystem of the operating system and in what is written atomically."""

from tests.mutants.mutant import Mutant

_CALLS = "tests/host/test_system_calls.py"
_SAME = f"{_CALLS}::test_the_real_filesystem_makes_the_calls_that_the_simulated_one_is_told"
_ATOMIC = f"{_CALLS}::test_an_atomic_write_syncs_the_bytes_then_renames_then_syncs_the_folder"
_MANY = f"{_CALLS}::test_many_files_become_durable_in_one_call"

_LOCK = "tests/host/test_lock.py"

HOST_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a file is not synced",
        "host/filesystem.py",
        "os.fsync(self._descriptor)",
        "os.fstat(self._descriptor)",
        _ATOMIC,
    ),
    Mutant(
        "a folder is not synced",
        "host/filesystem.py",
        "            os.fsync(descriptor)\n",
        "            os.fstat(descriptor)\n",
        _ATOMIC,
    ),
    Mutant(
        "the disk is not synced",
        "host/filesystem.py",
        "            _sync_disk(descriptor)\n",
        "            pass\n",
        _MANY,
    ),
    Mutant(
        "an error while syncing the disk is ignored",
        "host/filesystem.py",
        "elif libc.syncfs(descriptor) != 0:",
        "elif libc.syncfs(descriptor) > 0:",
        f"{_CALLS}::test_an_error_of_any_call_is_raised_and_not_swallowed",
    ),
    Mutant(
        "a disk that cannot be synced alone is not synced",
        "host/filesystem.py",
        "        os.sync()\n",
        "        pass\n",
        f"{_CALLS}::test_a_disk_that_cannot_be_synced_alone_is_synced_with_all_others",
    ),
    Mutant(
        "an atomic write does not sync the file",
        "host/filesystem.py",
        "        if is_durable:\n            file.sync()\n",
        "        if is_durable:\n            pass\n",
        _ATOMIC,
    ),
    Mutant(
        "an atomic write does not sync the folder",
        "host/filesystem.py",
        '        filesystem.sync_directory(os.path.dirname(path) or ".")\n',
        "        pass\n",
        _ATOMIC,
    ),
    Mutant(
        "an atomic write renames before it syncs",
        "host/filesystem.py",
        "            file.sync()\n    finally:\n        file.close()\n    filesystem.rename(temporary, path)\n",
        "            filesystem.rename(temporary, path)\n            file.sync()\n    finally:\n        file.close()\n",
        _ATOMIC,
    ),
    Mutant(
        "an atomic write appends to what an earlier one left behind",
        "host/filesystem.py",
        "        filesystem.unlink(temporary)\n",
        "        pass\n",
        "tests/conformance/test_filesystems.py"
        "::test_what_an_earlier_attempt_left_beside_it_does_not_get_into_a_whole_file",
    ),
    Mutant(
        "the file is replaced by writing into it",
        "host/filesystem.py",
        "os.replace(old, new)",
        "shutil.copyfile(old, new)",
        _SAME,
    ),
    # ---- locks and paths
    Mutant(
        "two processes may hold a lock",
        "host/lock.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        f"{_LOCK}::test_another_process_has_it_until_it_dies",
    ),
    Mutant(
        "the file of a lock is removed when it is released",
        "host/lock.py",
        "            os.close(self._descriptor)\n",
        '            os.unlink(os.readlink(f"/proc/self/fd/{self._descriptor}"))\n'
        "            os.close(self._descriptor)\n",
        f"{_LOCK}::test_the_file_of_a_lock_is_never_removed_and_names_its_latest_holder",
    ),
    Mutant(
        "a refused lock keeps its file open",
        "host/lock.py",
        "                self.release()\n                who =",
        "                who =",
        f"{_LOCK}::test_a_refused_lock_leaves_no_file_open",
    ),
    Mutant(
        "a path may leave its folder",
        "host/paths.py",
        'if ".." in parts:',
        'if parts[0] == "..":',
        "tests/host/test_paths.py",
    ),
)
