"""The tables of docs/explanation/how_protective.md, computed by its own blocks."""

import re
from pathlib import Path

import pytest
from scipy import stats

PAGE = Path(__file__).parents[4] / "docs/explanation/how_protective.md"


@pytest.fixture(scope="module")
def page() -> dict:
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(block, names)
    return names


def test_every_line_of_the_table_of_synthesizers(page):
    matrices = {
        "Multinomial-Dirichlet, figure 1": page["drawn"],
        "Multinomial-Dirichlet, Eq. 1": page["eq_1"],
        "Laplace, figure 3": page["noisy"],
        **page["ours"],
    }
    for name, matrix in matrices.items():
        told = matrix.inferential_disclosure()
        line = (
            f"| {name} | {matrix.least_change:.3f} | {matrix.epsilon:.3f} | {matrix.delta(2.0):.6f} "
            f"| {told.posterior:.3f} | {told.probability:.3f} |"
        )
        assert line in PAGE.read_text()


def test_four_probabilities_of_the_eight_cells(page):
    drawn, even = page["drawn"], stats.binom.pmf(range(6), 5, 0.5)
    found = (
        drawn.probabilistic_delta(2.0, even, "rarer"), drawn.probabilistic_delta(2.0, even),
        drawn.probabilistic_delta(2.0), drawn.delta(2.0),
    )  # fmt: skip
    assert re.findall(r"\| (0\.\d{6}) \|\n", PAGE.read_text()) == [f"{p:.6f}" for p in found]


def test_the_planted_fault_of_the_page_breaks_the_claim(page):
    assert not page["comparison"].holds
    cell = page["ours"]["Mechanism 1, Test 1, copies only"].worst_cell
    assert {cell.likelier, cell.rarer} == {(2, 3), (1, 4)}
