"""The draft of an index: how a run writes it, and how it is published."""
