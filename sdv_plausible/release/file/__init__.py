"""The release as one file that runs no code: written, read, checked, and sampled without SDV."""
