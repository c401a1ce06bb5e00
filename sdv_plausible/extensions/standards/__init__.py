"""Documents about a release: card, registry entry, standard descriptions, signed attestation."""
