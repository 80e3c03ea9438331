"""The actor that starts a supervisor on a node. Ray sends it there as source, so it can report what the node lacks.

This file must not import anything of this package at the top, nor use it outside of `_start`.
"""

from typing import Any


class BootstrapActor:
    """Starts a supervisor, or reports why that is impossible."""

    def __init__(self, function_pickle: bytes, options: bytes, version: str) -> None:
        self._supervisor: Any = None
        self._error = ""
        try:
            self._error = self._start(function_pickle, options, version)
        except BaseException as error:
            self._error = self._describe_error(error, version)

    def poll(self, order: bytes | None, timeout_s: float) -> Any:
        """Return a report and its buffers; or, as text, why there will be none."""
        return self._error or self._supervisor.poll(order, timeout_s)

    def submit(self, order: bytes) -> None:
        """Take an order while another thread is in `poll`."""
        if self._supervisor is not None:
            self._supervisor.submit(order)

    def _start(self, function_pickle: bytes, options: bytes, version: str) -> str:
        from inorder.version import __version__

        if __version__ != version:
            return self._describe_mismatch(f"has inorder {__version__}", version)
        import pickle

        import ray

        from inorder.engines.ray.supervisor import Supervisor

        node = ray.get_runtime_context().get_node_id()
        self._supervisor = Supervisor(function_pickle, pickle.loads(options), node)
        return ""

    def _describe_error(self, error: BaseException, version: str) -> str:
        if isinstance(error, ModuleNotFoundError):
            package = (error.name or "a package").partition(".")[0]
            return self._describe_mismatch(f"does not have {package}", version)
        return f"{self._describe_node()} cannot start a worker: {type(error).__name__}: {error}"

    def _describe_mismatch(self, found: str, version: str) -> str:
        return f"{self._describe_node()} {found}; the driver has inorder {version}, and every node needs the same"

    def _describe_node(self) -> str:
        import platform

        return f"node {platform.node()} (Python {platform.python_version()})"
