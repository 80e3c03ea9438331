"""The threads of the library for linear algebra that comes with NumPy."""

import os

_THREADS = "OPENBLAS_NUM_THREADS"


def limit_blas_threads() -> None:
    """Let OpenBLAS use one thread, in this process and in those that it starts, unless the environment says otherwise.
    To be called before NumPy is imported.

    A run has a process per core, and multiplies no large matrices. By default each of these processes starts a thread
    per core when it imports NumPy, which takes as much processor time as the rest of the import.
    """
    os.environ.setdefault(_THREADS, "1")
