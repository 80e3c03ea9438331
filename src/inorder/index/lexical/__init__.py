"""Search by words: text analysis, the inverted index, and BM25."""
