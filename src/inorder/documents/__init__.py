"""Jobs on documents: to DocTags, to chunks, to vectors."""
