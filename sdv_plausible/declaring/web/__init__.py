"""The review page: declarations in a browser on the holder's own machine, and nowhere else."""
