"""Pages that a model reads: what it is asked, the image of a page, and the blocks of its answer."""
