"""Privacy accounting: losses, their composition, and the theorems as functions."""
