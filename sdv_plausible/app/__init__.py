"""The app: from a table to a release in a browser on the holder's own machine, and nowhere else."""
