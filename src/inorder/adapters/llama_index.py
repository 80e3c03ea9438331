"""A LlamaIndex retriever over DATA. It needs the package `llama-index-core`.

from inorder.adapters.llama_index import LlamaIndexRetriever

for found in LlamaIndexRetriever(".inorder", k=3).retrieve("when should the fog horn be started"):
    print(found.node.metadata["citation"])
"""

import asyncio

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import inorder
from inorder.adapters.metadata import describe_hit
from inorder.dataset import SearchAnswer, SearchWhere


class LlamaIndexRetriever(BaseRetriever):
    """Finds chunks of documents and code, as `inorder search` does.

    Arguments:
        data: The directory that `inorder run --data` wrote.
        k: The number of results.
        mode: As `--mode` of `inorder search`.
        where: Conditions, as in `{"path": "docs/*"}`.
    """

    def __init__(self, data: str, k: int = 10, mode: str | None = None, where: SearchWhere | None = None) -> None:
        super().__init__()
        self._dataset = inorder.open(data)
        self._k, self._mode, self._where = k, mode, where

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return make_nodes(self._dataset, self._dataset.search(query_bundle.query_str, self._k, self._mode, self._where))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = await self._dataset.search_async(query_bundle.query_str, self._k, self._mode, self._where)
        return await asyncio.to_thread(make_nodes, self._dataset, answer)


def make_nodes(data: inorder.Dataset, answer: SearchAnswer) -> list[NodeWithScore]:
    """The hits of an answer as nodes of LlamaIndex, best first."""
    return [
        NodeWithScore(node=TextNode(id_=hit.chunk_id, text=hit.text, metadata=describe_hit(data, hit)), score=hit.score)
        for hit in answer.hits
    ]
