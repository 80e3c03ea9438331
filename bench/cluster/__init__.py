"""A simulated cluster: many workers, nodes that are lost, a slow network."""
