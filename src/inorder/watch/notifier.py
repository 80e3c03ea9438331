"""Events of folders, by inotify or what the system has in its place, from a thread.

Each folder is watched on its own. The library could watch a tree, but would follow symbolic links out of it, and enter
DATA and hidden folders.
"""

import threading
from collections.abc import Callable, Sequence

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

_STEP_MS, _DEBOUNCE_MS = 50, 200
"""Events are passed on when none has come for the first time, and at the latest after the second."""
_TIMEOUT_MS = 60_000


class FolderNotifier:
    """Passes on the paths that changed in some folders, until it is closed. Raises `OSError` if they cannot be
    watched."""

    def __init__(
        self, folders: Sequence[str], on_paths: Callable[[list[str]], None], on_failure: Callable[[str], None]
    ) -> None:
        self._on_paths = on_paths
        self._on_failure = on_failure
        self._stop = threading.Event()
        try:
            # Folders that cannot be read are left out; the caller asks for limits itself.
            self._notify = RustNotify(list(folders), False, False, 0, False, True)
        except WatchfilesRustInternalError as error:
            raise OSError(str(error)) from error
        except UnicodeEncodeError as error:  # the library knows paths as UTF-8 only
            raise OSError(f"there are no events of {error.object}, whose path is not UTF-8") from error
        self._thread = threading.Thread(target=self._pass_on, name="inorder-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching. Idempotent."""
        self._stop.set()
        self._thread.join()
        self._notify.close()

    def _pass_on(self) -> None:
        while not self._stop.is_set():
            try:
                found = self._notify.watch(_DEBOUNCE_MS, _STEP_MS, _TIMEOUT_MS, self._stop)
            except (RuntimeError, OSError) as error:
                self._on_failure(str(error))
                return
            if isinstance(found, set):
                self._on_paths([path for _, path in found])
