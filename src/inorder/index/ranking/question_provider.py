"""Providers that make the vectors of questions. A person waits for them, so a server has less time than in a run."""

from collections.abc import Sequence
from typing import Any

from inorder.documents.embed.providers.base import Matrix
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.embed.providers.registry import policy as find_policy
from inorder.errors import InfrastructureError, StageError
from inorder.models.limits import ServerLimits

SERVER_LIMITS = ServerLimits(attempts_max=3, deadline_s=20.0, check_s=5.0)
"""Limits of a server that is asked for a question: enough for one that loads its model first, and together less than
`inorder serve` gives a request, so that its answer names the server."""


class QuestionServer:
    """A provider behind a server, whose failures end the question in one line."""

    def __init__(self, spec: str, limits: ServerLimits = SERVER_LIMITS) -> None:
        self._spec = spec
        self._provider = open_dense(spec, limits)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order. Raises InfrastructureError if the server does not answer in time, or fails."""
        try:
            return self._provider.embed(texts)
        except StageError as error:
            raise InfrastructureError(
                f"{self._spec} makes no vectors for the question: {error.message}; "
                "a search with mode lexical and without a reranker asks no server"
            ) from None


def open_question_provider(spec: str) -> Any:
    """Open the dense provider that `spec` names, for questions."""
    return QuestionServer(spec) if find_policy(spec) == "io" else open_dense(spec)
