"""Machine code that calls machine code by its address."""

from __future__ import annotations

import numpy as np
import pytest

from whippletree.simulate.loop_code import address
from whippletree.simulate.native_functions import by_address, entry
from whippletree.simulate.native_structs import Address, NativeStruct, Numbers, NumberTable


class Ledger(NativeStruct):
    values: Numbers
    sums: NumberTable
    scaled: Address
    split: Address


@by_address
def scaled(b: Ledger, row: Numbers, factor: float, times: int) -> float:
    total = 0.0
    for _ in range(times):
        for i in range(row.size):
            row[i] *= factor
    for i in range(row.size):
        total += row[i]
    return total


@by_address
def split(b: Ledger, place: int) -> tuple[float, float, bool]:
    low, high = 0.0, 0.0
    for i in range(b.values.size):
        if i < place:
            low += b.values[i]
        else:
            high += b.values[i]
    scaled(b, b.sums[0], 2.0, 1)
    return low, high, low < high


@entry
def account(b: Ledger, place: int, found: Numbers, halve: bool) -> float:
    total = scaled(b, b.values, 3.0, 2)
    found[0], found[1], rises = split(b, place)
    found[2] = 1.0 if rises else 0.0
    return 0.5 * total if halve else total


@entry
def last_row_rises(table: NumberTable) -> bool:
    return table[table.shape[0] - 1, 0] < table[table.shape[0] - 1, table.shape[1] - 1]


@entry
def overfull(b: Ledger, size: int) -> int:
    return np.empty(size).size


def ledger(values: np.ndarray, sums: np.ndarray) -> Ledger:
    return Ledger(values, sums, address("scaled"), address("split"))


def test_native_functions_see_and_change_what_they_are_handed() -> None:
    values, sums = np.array([1.0, 2.0, 4.0]), np.array([[1.0, 5.0], [7.0, 8.0]])
    found = np.zeros(3)
    assert account(ledger(values, sums), 2, found, False) == 63.0
    np.testing.assert_array_equal(found, [27.0, 36.0, 1.0])
    np.testing.assert_array_equal(values, [9.0, 18.0, 36.0])
    np.testing.assert_array_equal(sums, [[2.0, 10.0], [7.0, 8.0]])


def test_the_table_says_which_function_is_called() -> None:
    """The same code with another address: nothing of the callee is in the caller."""
    values, sums = np.array([1.0, 2.0]), np.zeros((1, 2))
    other = Ledger(values, sums, address("halved"), address("split"))
    found = np.zeros(3)
    assert account(other, 1, found, True) == 0.75
    np.testing.assert_array_equal(found, [0.5, 1.0, 1.0])


def test_an_entry_takes_tables_and_answers_yes_or_no() -> None:
    assert last_row_rises(np.array([[2.0, 1.0], [1.0, 2.0]])) is True
    assert last_row_rises(np.array([[1.0, 2.0], [2.0, 1.0]])) is False


def test_want_of_memory_is_an_error() -> None:
    given = ledger(np.zeros(1), np.zeros((1, 1)))
    assert overfull(given, 1000) == 1000
    with pytest.raises(MemoryError, match=r"not enough memory for test_native_functions\.overfull"):
        overfull(given, 2**50)


@by_address
def halved(b: Ledger, row: Numbers, factor: float, times: int) -> float:
    for i in range(row.size):
        row[i] *= 0.5
    return row[0] + row[1]


@by_address
def mistaken(b: Ledger) -> int:
    return b.values[0]


def test_a_result_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="mistaken returns float64, not int64"):
        address("mistaken")
