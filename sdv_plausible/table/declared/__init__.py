"""Read declarations of a table: domain files, column specifications, code books."""
