"""The privacy card: one page about a release, for a data-protection officer's files."""
