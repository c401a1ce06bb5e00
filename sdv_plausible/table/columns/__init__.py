"""What one column is: its type, its document, its value set; and a table's columns together."""
