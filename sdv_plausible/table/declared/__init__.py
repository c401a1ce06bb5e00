"""What a user declares of a table: words, specifications, domain files."""
