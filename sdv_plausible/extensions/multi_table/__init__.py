"""Related tables: parents and their children, fitted under one privacy budget."""
