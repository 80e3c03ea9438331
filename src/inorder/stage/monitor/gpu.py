"""Memory of the GPUs that this process uses, if it uses any."""

import sys
from typing import Any


def read_gpu_memory_bytes() -> int | None:
    """Return the bytes that torch has reserved on all GPUs; None: this process has not used a GPU through torch.
    Nothing is imported or initialized for it."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    return sum(int(cuda.memory_reserved(device)) for device in range(cuda.device_count()))
