"""The privacy core: accounting, noise and the ledger. It imports neither the rest of the package nor SDV."""
