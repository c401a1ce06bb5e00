"""Papers made from a ledger: the registry's entry and the conformance statement."""
