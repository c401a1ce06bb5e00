"""Papers on a release: the card that an officer files, the registry's entry, the conformance statement."""
