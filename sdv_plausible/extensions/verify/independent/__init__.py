"""Release files checked by a second reading of their published format, which shares no code with the rest."""
