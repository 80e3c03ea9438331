"""Hides from a program what POSIX has and Windows has not.

Python imports this module at its start where its folder is on PYTHONPATH. The program may start no process, because the
system below would not start it as Windows does.
"""

import ctypes
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
from typing import Any, NoReturn

WITH_OWN_WAYS = ("asyncio", "typer", "rich.console", "sqlite3", "numpy")
"""Packages of others that know Windows. They are imported before it seems to be there: its modules are not."""
MODULES = "crypt fcntl grp nis ossaudiodev pty pwd readline resource spwd syslog termios tty"
CALLS = {
    os: (
        "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC O_DSYNC O_PATH O_TMPFILE WNOHANG WEXITED WNOWAIT P_ALL "
        "P_PID chown "
        "chroot ctermid eventfd fchdir fchmod fchown fdatasync fork forkpty getegid geteuid getgid getgroups "
        "getloadavg getpgid getpgrp getpriority getresuid getsid getuid getxattr killpg lchown listxattr lockf "
        "memfd_create mkfifo mknod nice openpty pathconf pidfd_open pipe2 posix_fadvise posix_fallocate posix_spawn "
        "posix_spawnp pread preadv pwrite pwritev readv sched_getaffinity sched_setaffinity sched_yield sendfile "
        "setgid setpgid setsid setuid setxattr statvfs sync sysconf tcgetpgrp uname wait wait3 wait4 waitid writev"
    ),
    select: "epoll poll",
    signal: (
        "SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU "
        "SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt "
        "sigpending sigtimedwait sigwait sigwaitinfo"
    ),
    socket: "AF_UNIX recv_fds send_fds",
}


class Libc(ctypes.CDLL):
    """A library of C functions, which needs a name."""

    def __init__(self, name: Any, *arguments: Any, **options: Any) -> None:
        if name is None:
            raise TypeError("bad argument type for built-in operation")
        super().__init__(name, *arguments, **options)


def refuse(*arguments: Any, **options: Any) -> NoReturn:
    raise OSError("this program may start no process")


for name in WITH_OWN_WAYS:
    importlib.import_module(name)
for module, names in CALLS.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in MODULES.split():
    sys.modules[name] = None  # type: ignore[assignment]
ctypes.CDLL = Libc  # type: ignore[misc]
subprocess.Popen = refuse  # type: ignore[assignment, misc]
sys.platform = "win32"
