"""The release and its file: one JSON document of sections, each with its reader and writer."""
