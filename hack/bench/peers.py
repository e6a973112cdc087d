"""Times LanceDB and LlamaIndex on the data that `groundwork-bench export` wrote.

Same documents, same vectors, same filter, same top 10, payload returned, warm, one process, single queries. Prints one
JSON object; times are milliseconds a query, the median and 95th percentile over all queries of the best of ROUNDS
rounds by median.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = 5
TOP = 10


def load(folder):
    read = lambda name: [json.loads(line) for line in open(folder / name, encoding="utf-8")]
    shape = json.load(open(folder / "shape.json"))
    vectors = lambda name: np.fromfile(folder / name, dtype="<f4").reshape(-1, shape["dimensions"])
    return read("documents.jsonl"), vectors("documents.f32"), read("queries.jsonl"), vectors("queries.f32")


def timed(call, queries, vectors):
    rounds = []
    for _ in range(ROUNDS):
        times = []
        for query, vector in zip(queries, vectors):
            start = time.perf_counter()
            hits = call(query["text"], vector)
            times.append((time.perf_counter() - start) * 1000)
            assert 0 < len(hits) <= TOP
        rounds.append(times)
    best = min(rounds, key=np.median)
    medians = [float(np.median(times)) for times in rounds]
    return {
        "median_ms": float(np.median(best)),
        "p95_ms": float(np.percentile(best, 95)),
        "spread_ms": [min(medians), max(medians)],
    }


def lancedb_search(folder, documents, vectors, queries, query_vectors):
    import lancedb
    from lancedb.rerankers import RRFReranker

    with tempfile.TemporaryDirectory() as place:
        table = lancedb.connect(place).create_table(
            "documents",
            [
                {"id": d["id"], "text": d["text"], "tag": d["tag"], "vector": v}
                for d, v in zip(documents, vectors)
            ],
        )
        table.create_fts_index("text")
        table.create_scalar_index("tag", index_type="BITMAP")
        reranker = RRFReranker()

        def call(text, vector):
            return (
                table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
                .vector(vector)
                .text(text)
                .where("tag = 'even'", prefilter=True)
                .rerank(reranker)
                .limit(TOP)
                .to_list()
            )

        return timed(call, queries, query_vectors)


def llamaindex_parts(documents, vectors, queries, query_vectors):
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.schema import TextNode

    known = {q["text"]: v.tolist() for q, v in zip(queries, query_vectors)}
    known.update({d["text"]: v.tolist() for d, v in zip(documents, vectors)})

    class Given(BaseEmbedding):
        def _get_query_embedding(self, query):
            return known[query]

        async def _aget_query_embedding(self, query):
            return known[query]

        def _get_text_embedding(self, text):
            return known[text]

    nodes = [TextNode(id_=d["id"], text=d["text"], metadata={"tag": d["tag"]}) for d in documents]
    for node in nodes:
        node.excluded_embed_metadata_keys = ["tag"]
    return Given(), nodes


def llamaindex_search(folder, documents, vectors, queries, query_vectors):
    from llama_index.core import VectorStoreIndex
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
    from llama_index.retrievers.bm25 import BM25Retriever

    embed, nodes = llamaindex_parts(documents, vectors, queries, query_vectors)
    index = VectorStoreIndex(nodes, embed_model=embed)
    filters = MetadataFilters(filters=[MetadataFilter(key="tag", value="even")])
    fused = QueryFusionRetriever(
        [
            index.as_retriever(similarity_top_k=TOP, filters=filters),
            BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=TOP, filters=filters),
        ],
        similarity_top_k=TOP,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
        llm=MockLLM(),
    )
    return timed(lambda text, vector: fused.retrieve(text), queries, query_vectors)


def llamaindex_ingest(folder, documents, vectors, queries, query_vectors):
    """Split, embed (vectors looked up, which is cheaper than any encoder), index both arms, persist."""
    from llama_index.core import Document, StorageContext, VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.retrievers.bm25 import BM25Retriever

    seconds = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as place:
            start = time.perf_counter()
            read = [Document(text=d["text"], metadata={"tag": d["tag"]}) for d in documents]
            nodes = SentenceSplitter(chunk_size=256, chunk_overlap=32).get_nodes_from_documents(read)
            context = StorageContext.from_defaults()
            VectorStoreIndex(nodes, storage_context=context, embed_model=MockEmbedding(embed_dim=vectors.shape[1]))
            context.persist(place)
            BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=TOP).persist(str(Path(place) / "bm25"))
            seconds.append(time.perf_counter() - start)
    return {"documents_per_second": len(documents) / min(seconds), "seconds": seconds}


def main():
    folder = Path(sys.argv[1])
    data = load(folder)
    report = {}
    for name, run in [
        ("lancedb", lancedb_search),
        ("llamaindex", llamaindex_search),
        ("llamaindex_ingest", llamaindex_ingest),
    ]:
        report[name] = run(folder, *data)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
