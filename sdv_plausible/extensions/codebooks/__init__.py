"""Making declarations: domain files from a table's header, a published table, a code book."""
