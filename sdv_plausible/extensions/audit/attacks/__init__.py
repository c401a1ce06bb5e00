"""Attacks on a synthesizer, ours or anyone's: who was in the table, and what can be told of them."""
