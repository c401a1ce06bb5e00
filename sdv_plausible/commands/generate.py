"""The command ``sdv-plausible generate``: ``sample``, by the name that DataSynthesizer gives it."""

from sdv_plausible.commands.sample import add_options, run

__all__ = ["add_options", "run"]
