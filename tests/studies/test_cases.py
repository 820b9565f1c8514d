"""Cases: samplers against their distributions, numbering of dimensions, seeds."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import whippletree as wt
from whippletree.studies.case_tables import Case, CaseTable
from whippletree.studies.study_stores import ChunkLayout

MAKERS = {"random": wt.cases.random, "latin_hypercube": wt.cases.latin_hypercube, "sobol": wt.cases.sobol}


@pytest.mark.parametrize("maker", MAKERS)
def test_samples_follow_their_distributions(maker: str) -> None:
    made = MAKERS[maker](1024, {"spring rate": stats.norm(5.0, 0.5)}, seed=7, mass=wt.cases.plus_minus(2.0, 0.1))
    assert stats.kstest(made["spring rate"], stats.norm(5.0, 0.5).cdf).pvalue > 0.01
    assert stats.kstest(made["mass"], stats.uniform(1.9, 0.2).cdf).pvalue > 0.01
    assert abs(stats.spearmanr(made["mass"], made["spring rate"]).statistic) < 0.1
    again = MAKERS[maker](1024, {"spring rate": stats.norm(5.0, 0.5)}, seed=7, mass=wt.cases.plus_minus(2.0, 0.1))
    xr.testing.assert_identical(made, again)


def test_cases_of_several_dimensions_are_numbered_with_the_last_one_fastest() -> None:
    table = CaseTable(
        xr.Dataset({"mass": ("load", [1.0, 2.0]), "drag": ("load", [0.1, 0.2]), "angle": ("case", [5.0, 6.0, 7.0])})
    )
    rows = table.rows(2, 5)
    assert rows["mass"].tolist() == [1.0, 2.0, 2.0]
    assert rows["drag"].tolist() == [0.1, 0.2, 0.2]
    assert rows["angle"].tolist() == [7.0, 5.0, 6.0]


def test_the_last_dimension_of_a_state_counts_coordinates() -> None:
    table = CaseTable({"q": np.arange(6.0).reshape(3, 2), "mass": [1.0, 2.0, 3.0], "v": np.zeros(2)})
    assert len(table) == 3
    assert table.rows(1, 2)["q"].tolist() == [[2.0, 3.0]]
    assert table.rows(1, 3)["v"].shape == (2, 2)


@pytest.mark.parametrize("shape", [(), (7,), (4, 5, 10), (1, 3), (100, 3)])
@pytest.mark.parametrize("most", [1, 2, 7, 25, 1000])
def test_chunks_hold_consecutive_cases_and_each_case_once(shape: tuple[int, ...], most: int) -> None:
    layout, numbers = ChunkLayout.of(shape, most), np.arange(int(np.prod(shape))).reshape(shape)
    met = [numbers[layout[k].region].ravel().tolist() for k in range(len(layout))]
    assert all(own == list(range(layout[k].start, layout[k].stop)) and len(own) <= most for k, own in enumerate(met))
    assert [k for own in met for k in own] == numbers.ravel().tolist()


def test_a_seed_depends_on_the_number_of_the_case_alone() -> None:
    seeds = [Case({"x": 1.0}, k, seed=3).seed for k in range(1000)]
    assert len({*seeds}) == 1000
    assert Case({"x": 2.0}, 5, seed=3).seed == seeds[5]
    assert Case({}, 5, seed=4).seed != seeds[5]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (wt.cases.grid, "at least one variable"),
        (lambda: wt.cases.grid(mass=[1.0, np.nan]), "mass"),
        (lambda: wt.cases.random(0, mass=stats.norm(1, 1)), "number of cases"),
        (lambda: wt.cases.random(3, mass=2.0), "frozen distribution"),
        (lambda: wt.cases.random(3, mass=stats.norm(1, 1), seed=-1), "seed"),
        (lambda: wt.cases.sobol(100, mass=stats.norm(1, 1)), "power of two"),
        (lambda: wt.cases.plus_minus(1.0, 0.0), "width"),
        (lambda: wt.cases.samples([[1.0, 2.0]], "mass"), "one column for each"),
        (lambda: CaseTable({"mass": [1.0, 2.0], "length": [1.0, 2.0, 3.0]}), "do not fit together"),
        (lambda: CaseTable({"mass": [1.0, np.inf]}), "not finite"),
        (lambda: CaseTable({"mass": [[1.0, 2.0]]}), "names them"),
        (lambda: CaseTable([1.0, 2.0]), "xarray.Dataset"),
    ],
)
def test_what_is_no_table_of_cases_is_refused_in_words(make: object, words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        make()  # type: ignore[operator]


def test_a_table_of_pandas_has_a_case_in_each_row() -> None:
    pd = pytest.importorskip("pandas")
    table = CaseTable(pd.DataFrame({"mass": [1.0, 2.0], "length": [0.5, 0.6]}))
    assert len(table) == 2
    assert table.rows(1, 2) == {"mass": [2.0], "length": [0.6]}
