"""The simulator: runs the real kernel and runtime with simulated faults, and checks every promise.

A seed determines a `world`: a virtual clock, a simulated engine with planned faults, a `referee` that checks every step
with its own books, and an `oracle` that derives the outcome of every item from the plan alone.

    python -m inorder.sim run 42           one seed, with its transcript
    python -m inorder.sim soak --seconds 60
    python -m inorder.sim explore          every interleaving of a small scope
    python -m inorder.sim crash 42         one seed of a complete run that is crashed repeatedly

`disk` simulates a disk that loses what was not synced. `crash` loses power at every moment of a program, and crashes
complete runs on such a disk.

The tools for tests of your own code are in `inorder.testing`.
"""
