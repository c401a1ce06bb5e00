"""Tables that stay where they are: files, databases, clusters. The rows are never all in memory."""
