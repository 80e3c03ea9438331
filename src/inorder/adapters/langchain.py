"""A LangChain retriever over DATA. It needs the package `langchain-core`.

from inorder.adapters.langchain import LangChainRetriever

for document in LangChainRetriever(data=".inorder", k=3).invoke("when should the fog horn be started"):
    print(document.metadata["citation"])
"""

import asyncio
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

import inorder
from inorder.adapters.metadata import describe_hit
from inorder.dataset import SearchAnswer, SearchWhere


class LangChainRetriever(BaseRetriever):
    """Finds chunks of documents and code, as `inorder search` does."""

    data: str
    """The directory that `inorder run --data` wrote."""
    k: int = 10
    mode: str | None = None
    where: dict[str, Any] | None = None
    """Conditions, as in `{"path": "docs/*"}`: those of `SearchWhere`."""

    _dataset: inorder.Dataset = PrivateAttr()

    def model_post_init(self, context: object) -> None:
        self._dataset = inorder.open(self.data)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return make_documents(
            self._dataset, self._dataset.search(query, self.k, self.mode, cast(SearchWhere, self.where))
        )

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        answer = await self._dataset.search_async(query, self.k, self.mode, cast(SearchWhere, self.where))
        return await asyncio.to_thread(make_documents, self._dataset, answer)


def make_documents(data: inorder.Dataset, answer: SearchAnswer) -> list[Document]:
    """The hits of an answer as documents of LangChain, best first."""
    return [Document(id=hit.chunk_id, page_content=hit.text, metadata=describe_hit(data, hit)) for hit in answer.hits]
