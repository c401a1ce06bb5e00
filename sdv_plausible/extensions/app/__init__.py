"""Web pages served on the data owner's machine: the review of declarations, and the app."""
