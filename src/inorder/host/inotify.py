"""The limits of inotify. A library that watches folders may ignore that one is exceeded."""

import ctypes
import errno
import os
import sys

_LIMITS = {
    errno.ENOSPC: "the limit fs.inotify.max_user_watches is reached",
    errno.EMFILE: "the limit fs.inotify.max_user_instances, or that of open files, is reached",
    errno.ENFILE: "the limit of open files of the system is reached",
}
_IN_DELETE_SELF = 0x400


def find_inotify_problem(folder: str) -> str:
    """Why no further folder can be watched on this system; empty: one can, or the system has no inotify. A watch of
    `folder` is added and removed."""
    if sys.platform != "linux":
        return ""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_CLOEXEC)
    if descriptor < 0:
        return _describe(ctypes.get_errno())
    try:
        if libc.inotify_add_watch(descriptor, os.fsencode(folder), _IN_DELETE_SELF) < 0:
            return _describe(ctypes.get_errno())
    finally:
        os.close(descriptor)
    return ""


def _describe(code: int) -> str:
    if code in (errno.ENOENT, errno.EACCES, errno.ENOTDIR):
        return ""  # the folder is gone or closed to us: no limit of inotify
    return _LIMITS.get(code, f"inotify cannot be used: {os.strerror(code)}")
