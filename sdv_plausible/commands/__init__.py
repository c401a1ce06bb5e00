"""Commands that walk [DS]'s way: describe a table, generate rows from the description, inspect both."""
