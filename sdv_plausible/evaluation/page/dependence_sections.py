"""The sections of dependences between columns: matrices, and the network of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from sdv_plausible.evaluation.network_layout import Structure
from sdv_plausible.evaluation.page.heatmaps import heatmap
from sdv_plausible.evaluation.page.network import network_graph, network_tree
from sdv_plausible.evaluation.page.rendering import Figure, Section
from sdv_plausible.evaluation.reading import Floats

_UNCERTAINTY = "symmetrical uncertainty"
_MOST_BESIDE = 30
"""Columns of two dependence matrices side by side, at most."""

Strengths = Mapping[frozenset[str], float]
"""How dependent two columns are, in [0, 1], by their names."""


@dataclass(frozen=True, kw_only=True)
class Dependence(Section):
    """Symmetrical uncertainty of every pair of columns."""

    template: ClassVar[str] = "dependence.html"
    alone: bool
    compared: bool
    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, columns: Sequence[str], matrices: Mapping[str, Floats]) -> Dependence:
        """Draw the matrix of each table and, of two, what the second has more or less than the first."""
        figures = [
            Figure(
                caption=name, picture=heatmap(f"dependence, {name.lower()}", columns, matrix, _UNCERTAINTY)
            )
            for name, matrix in matrices.items()
        ]
        if len(matrices) == 2:
            (first, one), (second, other) = matrices.items()
            caption = f"{second} less {first.lower()}"
            title = f"difference of dependences, {caption.lower()}"
            picture = heatmap(title, columns, other - one, "blue: too strong, orange: too weak", signed=True)
            figures.append(Figure(caption=caption, picture=picture))
        alone = len(columns) > _MOST_BESIDE
        return cls(alone=alone, compared=len(matrices) == 2, figures=tuple(figures))


def strengths_of(columns: Sequence[str], matrix: Floats) -> dict[frozenset[str], float]:
    """Return the strength of each pair of columns from a matrix of dependences."""
    return {
        frozenset((one, columns[j])): float(matrix[i, j])
        for i, one in enumerate(columns)
        for j in range(i + 1, len(columns))
    }


@dataclass(frozen=True, kw_only=True)
class Network(Section):
    """The model's network: each column under the parent it depends on most; all links on demand."""

    template: ClassVar[str] = "network.html"
    strongest: Figure
    picture: Markup
    num_links: int
    links: tuple[tuple[str, str, float], ...]

    @classmethod
    def of(cls, structure: Structure, strengths: Strengths | None = None) -> tuple[Network, ...]:
        """Draw ``{child: parents}``; nothing if there is none.

        ``strengths`` are those of a table that may be shown where the network is; pairs that they lack count
        as unknown and weakest.
        """
        if not structure:
            return ()
        known = strengths or {}
        links = [
            (parent, child, known.get(frozenset((parent, child)), float("nan")))
            for child, parents in structure.items()
            for parent in parents
        ]
        links.sort(key=lambda link: -link[2] if link[2] == link[2] else 1.0)
        return (
            cls(
                strongest=Figure(caption="Strongest links", picture=network_tree(structure, known)),
                picture=network_graph(structure),
                num_links=len(links),
                links=tuple(links),
            ),
        )
