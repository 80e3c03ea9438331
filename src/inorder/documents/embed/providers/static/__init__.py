"""Static vectors: every token has a fixed one, and the vector of a text is made of those of its tokens."""
