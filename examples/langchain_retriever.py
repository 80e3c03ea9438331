"""A LangChain retriever over DATA.

    python examples/langchain_retriever.py DATA "when should the fog horn be started"

It needs the package `langchain-core`. Copy the class: it is all that is needed.
"""

import sys

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

import inorder
from inorder.dataset import SearchAnswer


class InorderRetriever(BaseRetriever):
    """Finds chunks of documents and code, as `inorder search` does."""

    data: str
    """The directory that `inorder run --data` wrote."""
    k: int = 10
    mode: str | None = None
    where: dict[str, str] | None = None
    """Conditions, as in `{"path": "docs/*"}`."""

    _dataset: inorder.Dataset = PrivateAttr()

    def model_post_init(self, context: object) -> None:
        self._dataset = inorder.open(self.data)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return make_documents(self._dataset.search(query, self.k, self.mode, self.where))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return make_documents(await self._dataset.search_async(query, self.k, self.mode, self.where))


def make_documents(answer: SearchAnswer) -> list[Document]:
    """The hits of an answer as documents of LangChain, best first."""
    return [
        Document(
            id=hit.chunk_id,
            page_content=hit.text,
            metadata={
                "source": hit.locate(),
                "title": hit.name or hit.context,
                "kind": hit.file_kind,
                "score": hit.score,
            },
        )
        for hit in answer.hits
    ]


def main(data: str, question: str) -> None:
    for document in InorderRetriever(data=data, k=3).invoke(question):
        print(document.metadata["source"], document.page_content.split("\n")[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
