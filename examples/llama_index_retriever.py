"""A LlamaIndex retriever over DATA.

    python examples/llama_index_retriever.py DATA "when should the fog horn be started"

It needs the package `llama-index-core`. Copy the class: it is all that is needed.
"""

import sys

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import inorder
from inorder.dataset import SearchAnswer, SearchWhere


class InorderRetriever(BaseRetriever):
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
        return make_nodes(self._dataset.search(query_bundle.query_str, self._k, self._mode, self._where))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return make_nodes(await self._dataset.search_async(query_bundle.query_str, self._k, self._mode, self._where))


def make_nodes(answer: SearchAnswer) -> list[NodeWithScore]:
    """The hits of an answer as nodes of LlamaIndex, best first."""
    return [
        NodeWithScore(
            node=TextNode(
                id_=hit.chunk_id,
                text=hit.text,
                metadata={"source": hit.locate(), "title": hit.name or hit.context, "kind": hit.file_kind},
            ),
            score=hit.score,
        )
        for hit in answer.hits
    ]


def main(data: str, question: str) -> None:
    for found in InorderRetriever(data, k=3).retrieve(question):
        print(found.node.metadata["source"], found.node.get_content().split("\n")[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
