"""The deciding part: pure, single-threaded, handed its time, its events and its limits.

Nothing in this package reads a clock, a file, the environment or a random source, and nothing here imports the rest
of inorder. `kernel.Kernel.step(now_ms, event)` is the one way in; the list of commands it returns is the one way out.
"""
