"""Ways to execute a batch: in this thread, in other threads; later in processes and on a cluster."""
