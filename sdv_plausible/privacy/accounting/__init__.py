"""What a look at the rows costs: losses, their composition, and the theorems as functions."""
