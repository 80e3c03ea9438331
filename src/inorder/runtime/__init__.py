"""Binds the kernel to the world: the loop, the commit lane, the journal and its recovery."""
