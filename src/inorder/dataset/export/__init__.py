"""Export DATA for other tools: sharded Parquet or JSON lines, or one set of files per document."""
