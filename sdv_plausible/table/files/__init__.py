"""Tables as files, and what their storage says: read cell by cell as declared, and written."""
