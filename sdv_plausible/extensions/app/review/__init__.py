"""The review page: declarations in a browser."""
