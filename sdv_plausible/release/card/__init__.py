"""The privacy card: one page on a release, for the files of a data-protection officer."""
