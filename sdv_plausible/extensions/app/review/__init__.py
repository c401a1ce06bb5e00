"""The review page: edit declarations in a browser."""
