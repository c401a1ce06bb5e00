"""Extensions of the core, found through entry points like those of any other package."""
