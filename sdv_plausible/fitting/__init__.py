"""One fit: from declarations and rows, wherever they are, to what is released."""
