"""Connects the kernel to engines, sinks and the journal: the event loop, the commit step, and recovery."""
