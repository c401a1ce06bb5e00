"""Two tables, one person, one ledger: rows with the rows that hang on them."""
