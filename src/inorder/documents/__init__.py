"""The stages of documents: files to DocTags, DocTags to chunks, chunks to vectors."""
