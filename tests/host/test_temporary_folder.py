"""A temporary folder is removed with its process, or by the next one after a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inorder.host.temporary_folder import TemporaryFolder, remove_abandoned_folders

pytestmark = pytest.mark.req("ROB-1")

AT_WORK = """
import sys, threading
from inorder.host.temporary_folder import TemporaryFolder
with TemporaryFolder(sys.argv[1]) as path:
    print(path, flush=True)
    threading.Event().wait()
"""


def test_a_folder_is_private_and_goes_with_what_is_in_it(tmp_path: Path) -> None:
    folder = TemporaryFolder(str(tmp_path))
    Path(folder.path, "half").write_text("done")
    assert os.stat(folder.path).st_mode & 0o077 == 0
    folder.close()
    folder.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.process
def test_a_folder_is_removed_once_its_process_was_killed_and_not_before(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", AT_WORK, str(tmp_path)], stdout=subprocess.PIPE, text=True) as worker:
        try:
            assert worker.stdout is not None
            folder = Path(worker.stdout.readline().strip())
            assert folder.parent == tmp_path
            remove_abandoned_folders(str(tmp_path))
            assert folder.exists()
        finally:
            worker.send_signal(signal.SIGKILL)
    assert folder.exists(), "nobody could remove it"
    remove_abandoned_folders(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_the_folder_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inorder-tmp-theirs").mkdir()
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    remove_abandoned_folders(str(tmp_path))
    assert os.listdir(tmp_path) == ["inorder-tmp-theirs"]
