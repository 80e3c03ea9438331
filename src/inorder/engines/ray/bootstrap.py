"""The first thing of ours on a node, sent there as source: it can speak before anything of ours is known to be there.

Nothing of this package may be imported at the top of this file, nor used outside of `_hire`.
"""

from typing import Any


class Post:
    """An actor that hires a foreman, or says why it cannot."""

    def __init__(self, function_pickle: bytes, options: bytes, wanted: str) -> None:
        self._foreman: Any = None
        self._trouble = ""
        try:
            self._trouble = self._hire(function_pickle, options, wanted)
        except BaseException as error:
            self._trouble = self._described(error, wanted)

    def listen(self, order: bytes | None, patience_s: float) -> Any:
        """What has happened there, as a report and its buffers; or, as text, why nothing will."""
        return self._trouble or tuple(self._foreman.listen(order, patience_s))

    def obey(self, order: bytes) -> None:
        """Do this while somebody listens."""
        if self._foreman is not None:
            self._foreman.obey(order)

    def _hire(self, function_pickle: bytes, options: bytes, wanted: str) -> str:
        from inorder.version import __version__

        if __version__ != wanted:
            return self._lacking(f"has inorder {__version__}", wanted)
        import pickle

        import ray

        from inorder.engines.ray.supervisor import Foreman

        node = ray.get_runtime_context().get_node_id()
        self._foreman = Foreman(function_pickle, pickle.loads(options), node)
        return ""

    def _described(self, error: BaseException, wanted: str) -> str:
        if isinstance(error, ModuleNotFoundError):
            package = (error.name or "a package").partition(".")[0]
            return self._lacking(f"has no {package}", wanted)
        return f"{self._place()} cannot keep a worker: {type(error).__name__}: {error}"

    def _lacking(self, what: str, wanted: str) -> str:
        return f"{self._place()} {what}; the driver has inorder {wanted}, and every node needs the same"

    def _place(self) -> str:
        import platform

        return f"node {platform.node()} (Python {platform.python_version()})"
