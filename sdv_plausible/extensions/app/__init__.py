"""Pages on the holder's own machine, and nowhere else: the review of declarations, and the app around it."""
