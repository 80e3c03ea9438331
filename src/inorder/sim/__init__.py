"""Tries to break it.

A seeded world with a virtual clock, a simulated engine that misbehaves by plan, a referee that keeps its own books and
believes nothing the kernel says, and an oracle that knows from the plan alone how every item must end. The runtime in
between is the real one.

    python -m inorder.sim run 42           one seed, with its transcript
    python -m inorder.sim soak --seconds 60
    python -m inorder.sim explore          every interleaving of a small scope
    python -m inorder.sim crash 42         one seed of a whole run that is crashed again and again
    python -m inorder.sim cluster          a thousand workers, nodes that vanish, a slow network; with a picture

Beside it stands a disk that forgets what was not synced (`disk`), a walk through every loss of power (`power`), and
whole runs that are crashed on such a disk (`crashes`).

It ships with the package: engines, sinks and stages of your own can be tried on the same world.
"""
