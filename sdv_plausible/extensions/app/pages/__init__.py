"""The app: from a table to a release in a browser."""
