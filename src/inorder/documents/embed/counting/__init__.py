"""Statistics of the corpus that are counted in a process of their own, while the documents are embedded."""
