"""Tables that are read in parts: files, data frames and engines of this machine."""
