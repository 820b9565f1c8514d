"""Expressions that are the same but for their numbers: a loop evaluates them by one function, numbers being constants.

CasADi folds zeros and ones while an expression is written. What is left of it is a list of operations; two expressions
with the same list are of one form, and differ in the numbers that occur there. Exponents and tables belong to a form.

Expressions may have parts in common, as sums along a chain do. So they are taken in groups: a group's form reads what
earlier groups have worked out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca

from whippletree.programs.lookup import called, picked, table_of

__all__ = ["ExpressionForm", "GroupForm", "form_of_expression", "forms_of_groups"]

_PLAIN = (0.0, 1.0, -1.0, 2.0, 0.5)
"""Numbers that belong to a form."""

_NUMBER, _READ, _WRITTEN, _ENTRY = ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT, -1


class _TableKey(NamedTuple):
    """The numbers and the shape of a table."""

    numbers: bytes
    shape: tuple[int, int]


class _Operation(NamedTuple):
    """An operation on earlier values: its code, their numbers, a number that belongs to the form, and a table.

    A symbol has its place for operands, an entry of a table's row that of the row, and its own.
    """

    code: int
    operands: tuple[int, ...]
    plain: float | None = None
    table: _TableKey | None = None


@dataclass(frozen=True)
class ExpressionForm:
    """An expression over symbols: its operations, the values that are its results, its numbers, and its tables.

    Numbers are constants, and symbols that the form is not written over: parameters. Forms are equal if they differ in
    these only.
    """

    operations: tuple[_Operation, ...]
    results: tuple[int, ...]
    numbers: tuple[ca.SX, ...] = field(compare=False)
    tables: dict[_TableKey, ca.Function] = field(compare=False)

    def over(self, symbols: Sequence[ca.SX], numbers: Sequence[ca.SX]) -> ca.SX:
        """Return the expression with other symbols, and symbols for its numbers."""
        values: list[ca.SX] = []
        rest = iter(numbers)
        for code, operands, plain, table in self.operations:
            if code == _READ:
                values.append(symbols[operands[0]])
            elif code == _NUMBER:
                values.append(next(rest) if plain is None else ca.SX(plain))  # not empty: as many as were kept apart
            elif code == _ENTRY:
                values.append(values[operands[0]][operands[1]])
            elif table is not None:
                values.append(picked(self.tables[table], values[operands[0]]))
            else:
                parts = [values[i] for i in operands]
                values.append(ca.SX.unary(code, *parts) if len(parts) == 1 else ca.SX.binary(code, *parts))
        return ca.SX(ca.vertcat(ca.SX(0, 1), *(values[i] for i in self.results)))


class GroupForm(NamedTuple):
    """The form of a group: over the symbols it reads, by their places, and `shared` results (group, entry) of others.

    The group's own expressions come first among its results, then what later groups read.
    """

    form: ExpressionForm
    reads: tuple[int, ...]
    shared: tuple[tuple[int, int], ...]


def form_of_expression(expression: ca.SX, symbols: ca.SX) -> ExpressionForm:
    """Return an expression (m) over symbols (n) as a form with numbers.

    >>> x = ca.SX.sym("x", 2)
    >>> first, second = (form_of_expression(a * x[0] * x[1] + x[0], x) for a in (3.5, 0.7))
    >>> first == second, [float(one.numbers[0]) for one in (first, second)]
    (True, [3.5, 0.7])
    >>> y, c = ca.SX.sym("y", 2), ca.SX.sym("c")
    >>> first.over(ca.vertsplit(y), [c])
    SX((((c*y_0)*y_1)+y_0))
    """
    return _FormTrace([expression], symbols).group(0, range(symbols.numel())).form


def forms_of_groups(groups: Sequence[ca.SX], symbols: ca.SX) -> list[GroupForm]:
    """Return the forms of groups of expressions, which share what they have in common.

    >>> x = ca.SX.sym("x", 4)
    >>> from itertools import accumulate
    >>> sums = list(accumulate(3 * x[i] for i in range(4)))
    >>> forms = forms_of_groups(sums, x)
    >>> forms[2].form == forms[3].form, forms[3].reads, forms[3].shared
    (True, (3,), ((2, 0),))
    """
    trace = _FormTrace(groups, symbols)
    return [trace.group(g) for g in range(len(groups))]


class _FormTrace:
    """The values of groups of expressions, each found by one operation, with the group that first needs it."""

    def __init__(self, groups: Sequence[ca.SX], symbols: ca.SX) -> None:
        own = {one.element_hash() for one in ca.vertsplit(symbols)} if symbols.numel() else set()
        column = ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *groups)))
        self._others = [one for one in ca.symvar(column) if one.element_hash() not in own]
        self._function = ca.Function("form", [symbols, ca.SX(ca.vertcat(ca.SX(0, 1), *self._others))], [column])
        self._values: list[_Operation] = []
        self._numbers: dict[int, ca.SX] = {}
        self._tables: dict[_TableKey, ca.Function] = {}
        self._owner: list[int] = []
        self._left: list[list[int]] = [[] for _ in groups]  # the values that each group leaves
        group_of = [g for g, group in enumerate(groups) for _ in range(group.numel())]
        registers: dict[int, int] = {}
        for k in range(self._function.n_instructions()):
            places = tuple(self._function.instruction_output(k))
            operands = tuple(self._function.instruction_input(k))
            if self._function.instruction_id(k) == _WRITTEN:
                g = group_of[places[1]]
                self._left[g].append(registers[operands[0]])
                self._owner += [g] * (len(self._values) - len(self._owner))
            else:
                self._read(k, operands, places, registers)
        self._members: list[list[int]] = [[] for _ in groups]
        for i, g in enumerate(self._owner):
            self._members[g].append(i)
            self._keep_exponent(i)
            for operand in self._operands(i):
                self._share(operand, g)
        for g, left in enumerate(self._left):
            for i in left:
                self._share(i, g)

    def _read(self, k: int, operands: tuple[int, ...], places: Sequence[int], registers: dict[int, int]) -> None:
        """Read an instruction, which leaves values in registers."""
        code, found = self._function.instruction_id(k), len(self._values)
        if code == ca.OP_CALL:
            table = self._table(k)
            if table is not None:
                self._values.append(_Operation(code, (registers[operands[0]],), None, table))
            for j, place in enumerate(places):
                if place >= 0:  # somebody reads it
                    registers[place] = len(self._values)
                    zero = _Operation(_NUMBER, (), 0.0)
                    self._values.append(zero if table is None else _Operation(_ENTRY, (found, j)))
            return
        if code == _NUMBER:
            value = self._function.instruction_constant(k)
            if value not in _PLAIN:
                self._numbers[found] = ca.SX(value)
            one = _Operation(code, (), value if value in _PLAIN else None)
        elif code == _READ and operands[0] == 1:
            self._numbers[found] = self._others[operands[1]]
            one = _Operation(_NUMBER, ())
        else:
            one = _Operation(code, operands[1:] if code == _READ else tuple(registers[i] for i in operands))
        self._values.append(one)
        registers[places[0]] = found

    def _table(self, k: int) -> _TableKey | None:
        """Return the table that an instruction looks something up in; None for the derivative of one."""
        function = called(self._function.instructions_sx()[k].which_function())
        if function is None:
            return None
        table = table_of(function)
        found = _TableKey(table.numbers.tobytes(), table.entries.shape)
        self._tables.setdefault(found, function)
        return found

    def _operands(self, i: int) -> tuple[int, ...]:
        """Return the values that one is made of."""
        code, operands, _, _ = self._values[i]
        if code in (_NUMBER, _READ):
            return ()
        return operands[:1] if code == _ENTRY else operands

    def _keep_exponent(self, i: int) -> None:
        """Let a number that is an exponent belong to the form: machine code multiplies for small ones."""
        if self._values[i].code in (ca.OP_POW, ca.OP_CONSTPOW):
            exponent = self._values[i].operands[1]
            if exponent in self._numbers and self._numbers[exponent].is_constant():
                number = float(self._numbers.pop(exponent))
                self._values[exponent] = self._values[exponent]._replace(plain=number)

    def _share(self, i: int, reader: int) -> None:
        """Let a group leave a value that another one reads, unless it is a number or a symbol."""
        g = self._owner[i]
        if g != reader and self._values[i].code not in (_NUMBER, _READ) and i not in self._left[g]:
            self._left[g].append(i)

    def group(self, g: int, symbols: Sequence[int] = ()) -> GroupForm:
        """Return the form of a group over the symbols that it reads, behind those at some places."""
        leaves: dict[tuple[int, ...], None] = dict.fromkeys((place,) for place in symbols)
        found: dict[int, int] = {}
        operations: list[_Operation] = []
        numbers: list[ca.SX] = []
        for i in (*self._members[g], *self._left[g]):
            for j in dict.fromkeys((*self._operands(i), i)):
                if j in found:
                    continue
                one = self._values[j]
                if one.code == _NUMBER:
                    numbers += [self._numbers[j]] if one.plain is None else []
                elif one.code != _READ and self._owner[j] != g:
                    one = _Operation(_READ, (self._owner[j], self._left[self._owner[j]].index(j)))
                elif one.code != _READ:
                    above = self._operands(j)
                    one = one._replace(operands=(*(found[x] for x in above), *one.operands[len(above) :]))
                if one.code == _READ:
                    leaves.setdefault(one.operands)
                found[j] = len(operations)
                operations.append(one)
        ordered = sorted(leaves, key=len)  # symbols, then what is shared
        at = {leaf: k for k, leaf in enumerate(ordered)}
        written = tuple(one._replace(operands=(at[one.operands],)) if one.code == _READ else one for one in operations)
        form = ExpressionForm(written, tuple(found[i] for i in self._left[g]), tuple(numbers), self._tables)
        reads = tuple(leaf[0] for leaf in ordered if len(leaf) == 1)
        return GroupForm(form, reads, tuple((leaf[0], leaf[1]) for leaf in ordered if len(leaf) > 1))
