"""What one cell is, by itself: its form, its moment, its rounding, its value in a document."""
