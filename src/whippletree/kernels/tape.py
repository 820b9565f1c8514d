"""The tape: a trace as a list of scalar operations, each value used as often as it is needed.

CasADi's instructions are read once, put into static single assignment with equal values merged, and then
shaped for the processor: shared divisors become one reciprocal, and products that only feed sums are fused
with them. Everything is deterministic, and nothing is reassociated, so that scalar and lane kernels give the
same bits.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property

import casadi as ca

from whippletree.foundation.short_text import readable
from whippletree.programs.lookup import LookupTable, called, table_of

__all__ = ["Instruction", "OperationCount", "Tape", "arrange", "fuse", "read_labelled", "read_tape"]

_BINARY = {
    ca.OP_ADD: "add",
    ca.OP_SUB: "sub",
    ca.OP_MUL: "mul",
    ca.OP_DIV: "div",
    ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow",
    ca.OP_ATAN2: "atan2",
    ca.OP_FMIN: "fmin",
    ca.OP_FMAX: "fmax",
    ca.OP_FMOD: "fmod",
    ca.OP_COPYSIGN: "copysign",
    ca.OP_LT: "lt",
    ca.OP_LE: "le",
    ca.OP_EQ: "eq",
    ca.OP_NE: "ne",
    ca.OP_AND: "and",
    ca.OP_OR: "or",
    ca.OP_IF_ELSE_ZERO: "if_else_zero",
    ca.OP_HYPOT: "hypot",
}
_UNARY = {
    ca.OP_NEG: "neg",
    ca.OP_SQRT: "sqrt",
    ca.OP_SIN: "sin",
    ca.OP_COS: "cos",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "asin",
    ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan",
    ca.OP_SINH: "sinh",
    ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh",
    ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh",
    ca.OP_EXP: "exp",
    ca.OP_LOG: "log",
    ca.OP_EXPM1: "expm1",
    ca.OP_LOG1P: "log1p",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_FABS: "fabs",
    ca.OP_SIGN: "sign",
    ca.OP_NOT: "not",
    ca.OP_ERF: "erf",
}
_NAMES = _BINARY | _UNARY
_COMMUTATIVE = frozenset({"add", "mul", "fmin", "fmax", "eq", "ne", "and", "or", "hypot"})
_LEAVES = frozenset({"const", "input"})
_SIGNED = frozenset({"add", "sub", "mul", "div"})

Instruction = tuple[str, tuple[int, ...]]
"""A name and the values it works on; ("const", ...) and ("input", ...) are leaves."""


@readable
@dataclass(frozen=True)
class OperationCount:
    """Scalar operations of a trace, as the papers count them.

    >>> OperationCount(multiplications=3, additions=2).total
    5
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    square_roots: int = 0
    trigonometric: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """All operations."""
        return (
            self.multiplications + self.additions + self.divisions + self.square_roots + self.trigonometric + self.other
        )

    def __add__(self, other: OperationCount) -> OperationCount:
        return OperationCount(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __rmul__(self, times: int) -> OperationCount:
        return OperationCount(*(times * a for a in astuple(self)))

    def __str__(self) -> str:
        parts = [
            (self.multiplications, "multiplications"),
            (self.additions, "additions"),
            (self.divisions, "divisions"),
            (self.square_roots, "square roots"),
            (self.trigonometric, "sines and cosines"),
            (self.other, "others"),
        ]
        return ", ".join(f"{n} {word}" for n, word in parts if n) or "no operations"


@dataclass
class Tape:
    """Operations in an order in which each comes after its operands.

    `inputs` maps a value to (argument, element); `outputs` lists (argument, element, value). "segment:k" finds the row
    of a number in table k, and "entry:k:j" reads entry j of that row.
    """

    operations: list[Instruction] = field(default_factory=list)
    constants: dict[int, float] = field(default_factory=dict)
    inputs: dict[int, tuple[int, int]] = field(default_factory=dict)
    outputs: list[tuple[int, int, int]] = field(default_factory=list)
    tables: list[LookupTable] = field(default_factory=list)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict, repr=False)

    def put(self, key: tuple[object, ...], name: str, operands: tuple[int, ...]) -> int:
        """Append an operation unless an equal one is there."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.operations)
            self.operations.append((name, operands))
        return found

    def constant(self, number: float) -> int:
        """Return the value of a constant."""
        value = self.put(("const", number.hex()), "const", ())
        self.constants[value] = number
        return value

    def input(self, argument: int, element: int) -> int:
        """Return the value of an element of an argument."""
        value = self.put(("input", argument, element), "input", ())
        self.inputs[value] = (argument, element)
        return value

    def operation(self, name: str, *operands: int) -> int:
        """Return the value of an operation, simplified where signs and units allow."""
        if name in _SIGNED or name == "neg":
            simple = self._simplify(name, operands)
            if simple is not None:
                return simple
        if name in _COMMUTATIVE and operands[0] > operands[1]:
            operands = (operands[1], operands[0])
        return self.put((name, operands), name, operands)

    def _simplify(self, name: str, operands: tuple[int, ...]) -> int | None:
        """Fold signs: a + (-b), a - (-b), (-a) b, a (1/d); and cancel terms."""
        if name == "neg":
            return self._opposite(operands[0])
        a, b = operands
        (first, inside_a), (second, inside_b) = self.operations[a], self.operations[b]
        if name == "mul":
            if first == "const" and self.constants[a] == -1.0:
                return self.operation("neg", b)
            if second == "const" and self.constants[b] == -1.0:
                return self.operation("neg", a)
        if second == "neg":
            if name in ("add", "sub"):
                return self.operation("sub" if name == "add" else "add", a, inside_b[0])
            if first != "neg":
                return self.operation("neg", self.operation(name, a, inside_b[0]))
        if first == "neg" and name != "sub":
            if name == "add":
                return self.operation("sub", b, inside_a[0])
            return self.operation("neg", self.operation(name, inside_a[0], b))
        return self._cancelled(name, a, b) if name in ("add", "sub") else None

    def _cancelled(self, name: str, a: int, b: int) -> int | None:
        """Return a sum or difference in which a term cancels, as CasADi does where it sees that terms are equal.

        (x - b) + b and a + (x - a) are x; so are (x + b) - b and a - (a - x), and a - (a + x) is -x.
        """
        (first, inside_a), (second, inside_b) = self.operations[a], self.operations[b]
        if name == "add":
            if first == "sub" and inside_a[1] == b:
                return inside_a[0]
            return inside_b[0] if second == "sub" and inside_b[1] == a else None
        if first == "add" and b in inside_a:
            return inside_a[0] if inside_a[1] == b else inside_a[1]
        if second == "sub" and inside_b[0] == a:
            return inside_b[1]
        if second == "add" and a in inside_b:
            return self.operation("neg", inside_b[0] if inside_b[1] == a else inside_b[1])
        return None

    def _opposite(self, value: int) -> int | None:
        """Return the negative of a value that is negative itself, or constant."""
        name, operands = self.operations[value]
        if name == "neg":
            return operands[0]
        return self.constant(-self.constants[value]) if name == "const" else None

    def uses(self) -> list[int]:
        """Return how often each value is used, outputs included."""
        count = [0] * len(self.operations)
        for _, operands in self.operations:
            for operand in operands:
                count[operand] += 1
        for _, _, value in self.outputs:
            count[value] += 1
        return count

    def needed(self) -> list[bool]:
        """Return which operations an output needs."""
        needed = [False] * len(self.operations)
        pending = [value for _, _, value in self.outputs]
        while pending:
            value = pending.pop()
            if not needed[value]:
                needed[value] = True
                pending.extend(self.operations[value][1])
        return needed

    def pruned(self) -> Tape:
        """Return the tape without operations that no output needs."""
        needed = self.needed()
        tape, new = Tape(tables=self.tables), [-1] * len(self.operations)
        for old, (name, operands) in enumerate(self.operations):
            if needed[old]:
                new[old] = len(tape.operations)
                tape.operations.append((name, tuple([new[o] for o in operands])))
        tape.constants = {new[v]: c for v, c in self.constants.items() if needed[v]}
        tape.inputs = {new[v]: i for v, i in self.inputs.items() if needed[v]}
        tape.outputs = [(a, e, new[v]) for a, e, v in self.outputs]
        return tape

    def count(self) -> OperationCount:
        """Count the operations."""
        names = Counter(name for name, _ in self.operations)
        fused = names["fma"] + names["fnma"] + names["fms"]
        known = {
            "const",
            "input",
            "neg",
            "add",
            "sub",
            "mul",
            "div",
            "sqrt",
            "sin",
            "cos",
            "fma",
            "fnma",
            "fms",
        }
        return OperationCount(
            multiplications=names["mul"] + fused,
            additions=names["add"] + names["sub"] + fused,
            divisions=names["div"],
            square_roots=names["sqrt"],
            trigonometric=names["sin"] + names["cos"],
            other=sum(n for name, n in names.items() if name not in known),
        )


def read_tape(function: ca.Function) -> Tape:
    """Read the instructions of an SX function into a tape, merging equal values.

    >>> x = ca.SX.sym("x")
    >>> read_tape(ca.Function("f", [x], [x * x + x * x])).count().multiplications
    1
    """
    return _share_reciprocals(_read(function).pruned())[0].pruned()


def read_labelled(function: ca.Function) -> tuple[Tape, list[int]]:
    """Read a function's first output, and label each operation with the first of its other outputs that needs it.

    The tape is that of the first output alone; a label is the number of an output, 0 if no other one needs it.

    >>> x = ca.SX.sym("x")
    >>> read_labelled(ca.Function("f", [x], [x * x + x, x * x]))[1]
    [1, 1, 0]
    """
    whole = _read(function)
    labels = [0] * len(whole.operations)
    for number in range(1, function.n_out()):
        pending = [value for argument, _, value in whole.outputs if argument == number]
        while pending:
            value = pending.pop()
            if not labels[value]:
                labels[value] = number
                pending.extend(whole.operations[value][1])
    whole.outputs = [(argument, element, value) for argument, element, value in whole.outputs if argument == 0]
    kept = [k for k, needed in enumerate(whole.needed()) if needed]
    shared, origins = _share_reciprocals(whole.pruned())
    last = [k for k, needed in enumerate(shared.needed()) if needed]
    return shared.pruned(), [labels[kept[origins[k]]] for k in last]


def _read(function: ca.Function) -> Tape:
    """Read the instructions, merging equal values."""
    tape, slots = Tape(), dict[int, int]()
    calls = _Calls(function)
    code_of, given, left = function.instruction_id, function.instruction_input, function.instruction_output
    for k in range(function.n_instructions()):
        code = code_of(k)
        name = _NAMES.get(code)
        if name is not None:
            slots[left(k)[0]] = tape.operation(name, *[slots[a] for a in given(k)])
            continue
        arguments, results = given(k), left(k)
        if code == ca.OP_INPUT:
            slots[results[0]] = tape.input(arguments[0], arguments[1])
        elif code == ca.OP_OUTPUT:
            tape.outputs.append((results[0], results[1], slots[arguments[0]]))
        elif code == ca.OP_CONST:
            slots[results[0]] = tape.constant(function.instruction_constant(k))
        elif code == ca.OP_CALL:
            calls.append(tape, k, slots[arguments[0]], results, slots)
        else:
            slots[results[0]] = _shorthand(tape, code, slots[arguments[0]])
    return tape


class _Calls:
    """The lookups that a function calls; a table that is called several times is kept once."""

    def __init__(self, function: ca.Function) -> None:
        self._function = function
        self._known: dict[bytes, int] = {}

    @cached_property
    def _nodes(self) -> ca.SX:
        return self._function.instructions_sx()

    def append(self, tape: Tape, k: int, x: int, results: Sequence[int], slots: dict[int, int]) -> None:
        """Append instruction k, the lookup of a value; derivatives of lookups are zero."""
        function = called(self._nodes[k].which_function())
        if function is None:
            slots.update({slot: tape.constant(0.0) for slot in results if slot >= 0})
            return
        table = table_of(function)
        number = self._known.setdefault(table.numbers.tobytes(), len(tape.tables))
        if number == len(tape.tables):
            tape.tables.append(table)
        row = tape.operation(f"segment:{number}", x)
        for j, slot in enumerate(results):
            if slot >= 0:
                slots[slot] = tape.operation(f"entry:{number}:{j}", row)


def _shorthand(tape: Tape, code: int, x: int) -> int:
    """Append one of CasADi's shorthands, spelled out."""
    if code == ca.OP_ASSIGN:
        return x
    if code == ca.OP_SQ:
        return tape.operation("mul", x, x)
    if code == ca.OP_TWICE:
        return tape.operation("add", x, x)
    if code == ca.OP_INV:
        return tape.operation("div", tape.constant(1.0), x)
    raise NotImplementedError(f"the trace holds an operation (number {code}) that native code does not know")


def _share_reciprocals(tape: Tape) -> tuple[Tape, list[int]]:
    """Divide once by each divisor that is used more than once, and multiply by its reciprocal.

    Return also from which operation each new one comes.
    """
    divisors = Counter(operands[1] for name, operands in tape.operations if name == "div")
    result, new, origins = Tape(tables=tape.tables), list[int](), list[int]()
    for old, (name, operands) in enumerate(tape.operations):
        if name == "const":
            new.append(result.constant(tape.constants[old]))
        elif name == "input":
            new.append(result.input(*tape.inputs[old]))
        elif name == "div" and (divisors[operands[1]] > 1 or operands[1] in tape.constants):
            new.append(_by_reciprocal(result, new[operands[0]], new[operands[1]]))
        else:
            new.append(result.operation(name, *[new[o] for o in operands]))
        origins += [old] * (len(result.operations) - len(origins))
    result.outputs = [(a, e, new[v]) for a, e, v in tape.outputs]
    return result, origins


def _by_reciprocal(tape: Tape, a: int, b: int) -> int:
    """Return a / b as a product, where the reciprocal is shared or exact."""
    if b in tape.constants:
        d = tape.constants[b]
        exact = d != 0 and math.isfinite(d) and abs(math.frexp(d)[0]) == 0.5 and math.isfinite(1 / d)
        return tape.operation("mul", a, tape.constant(1 / d)) if exact else tape.operation("div", a, b)
    one = tape.constant(1.0)
    reciprocal = tape.operation("div", one, b)
    return reciprocal if a == one else tape.operation("mul", a, reciprocal)


def fuse(tape: Tape) -> Tape:
    """Fuse products that only feed sums with those sums: fma = a b + c, fnma = c - a b, fms = a b - c.

    A product is fused when every one of its uses can take it, so that no multiplication is done twice.
    """
    product = _fusable_products(tape)
    result, new = Tape(tables=tape.tables), list[int]()
    for old, (name, operands) in enumerate(tape.operations):
        if name == "const":
            new.append(result.constant(tape.constants[old]))
        elif name == "input":
            new.append(result.input(*tape.inputs[old]))
        elif name in ("add", "sub") and (operands[0] in product or operands[1] in product):
            new.append(_fused(result, tape, name, operands, product, new))
        else:
            same = tuple([new[o] for o in operands])
            new.append(result.put((name, same), name, same))
    result.outputs = [(a, e, new[v]) for a, e, v in tape.outputs]
    return result.pruned()


def _fusable_products(tape: Tape) -> dict[int, tuple[int, int]]:
    """Return the products all of whose uses are sums that have room for them."""
    taken: set[int] = set()
    users: dict[int, list[int]] = {}
    for k, (_, operands) in enumerate(tape.operations):
        for operand in operands:
            users.setdefault(operand, []).append(k)
    is_output = {v for _, _, v in tape.outputs}
    product: dict[int, tuple[int, int]] = {}
    for k, (name, operands) in enumerate(tape.operations):
        if name != "mul" or k in is_output:
            continue
        sums = users.get(k, [])
        if all(_takes(tape, s, k) and s not in taken for s in sums):
            product[k] = (operands[0], operands[1])
            taken.update(sums)
    return product


def _takes(tape: Tape, user: int, value: int) -> bool:
    """Tell whether an operation is a sum that uses the value once."""
    name, operands = tape.operations[user]
    return name in ("add", "sub") and operands[0] != operands[1] and value in operands


def _fused(
    result: Tape,
    tape: Tape,
    name: str,
    operands: tuple[int, ...],
    product: dict[int, tuple[int, int]],
    new: list[int],
) -> int:
    """Return the fused form of a sum with one fusable product."""
    a, b = operands
    if a in product:
        x, y = product[a]
        fused, operands = ("fma" if name == "add" else "fms"), (new[x], new[y], new[b])
    else:
        x, y = product[b]
        fused, operands = ("fma" if name == "add" else "fnma"), (new[x], new[y], new[a])
    return result.put((fused, operands), fused, operands)


def arrange(tape: Tape) -> Tape:
    """Return the tape in an order that keeps few values waiting, so that more of them stay in registers.

    Of the operations whose operands are at hand, the next is the one that is the last to use most of them; among
    equals, the one whose operands are freshest.
    """
    order = [k for k, (name, _) in enumerate(tape.operations) if name in _LEAVES]
    order += _fresh_first(tape)
    new = {old: k for k, old in enumerate(order)}
    result = Tape([(tape.operations[k][0], tuple(new[o] for o in tape.operations[k][1])) for k in order])
    result.tables = tape.tables
    result.constants = {new[v]: c for v, c in tape.constants.items()}
    result.inputs = {new[v]: i for v, i in tape.inputs.items()}
    result.outputs = [(a, e, new[v]) for a, e, v in tape.outputs]
    return result


def _fresh_first(tape: Tape) -> list[int]:
    """Return all operations but the leaves, arranged as `arrange` says."""
    n = len(tape.operations)
    operands = [{o for o in tape.operations[k][1] if tape.operations[o][0] not in _LEAVES} for k in range(n)]
    users: list[set[int]] = [set() for _ in range(n)]
    for k in range(n):
        for o in operands[k]:
            users[o].add(k)
    held = {value for _, _, value in tape.outputs}  # never used up
    missing = [len(operands[k]) for k in range(n)]
    stamp = [0] * n
    heap: list[tuple[int, int, int]] = []

    def offer(k: int) -> None:
        last_uses = sum(1 for o in operands[k] if len(users[o]) == 1 and o not in held)
        heapq.heappush(heap, (-last_uses, -max((stamp[o] for o in operands[k]), default=0), k))

    for k in range(n):
        if not missing[k] and tape.operations[k][0] not in _LEAVES:
            offer(k)
    order: list[int] = []
    done = [False] * n
    while heap:
        _, _, k = heapq.heappop(heap)
        if done[k]:
            continue  # offered again since, and taken then
        done[k] = True
        order.append(k)
        stamp[k] = len(order)
        for u in sorted(users[k]):
            missing[u] -= 1
            if not missing[u]:
                offer(u)
        for o in sorted(operands[k]):
            users[o].discard(k)
            if len(users[o]) == 1:
                (u,) = users[o]
                if not missing[u] and not done[u]:
                    offer(u)
    return order
