"""A guarantee stated for each direction of the neighbour relation."""

from dataclasses import dataclass

from sdv_plausible.privacy.accounting.losses import EpsilonDelta

__all__ = ["DirectedLoss"]


@dataclass(frozen=True, kw_only=True)
class DirectedLoss:
    """A guarantee stated for each direction of the neighbour relation.

    Parameters
    ----------
    remove : EpsilonDelta
        What a table makes likelier than the table with one row removed.
    add : EpsilonDelta
        What a table makes likelier than the table with one row added.
    """

    remove: EpsilonDelta
    add: EpsilonDelta

    @property
    def worst(self):
        """One pair that holds in both directions."""
        return EpsilonDelta(
            max(self.remove.epsilon, self.add.epsilon), max(self.remove.delta, self.add.delta)
        )
