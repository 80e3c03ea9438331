"""The kernel: decides what to dispatch, retry, commit and stop. Pure and single-threaded.

Nothing in this package reads a clock, a file, the environment or a random source, and it imports only `inorder.errors`.
`kernel.Kernel.step(now_ms, event)` is its only entry point. It returns a list of commands for the caller to perform.
"""
