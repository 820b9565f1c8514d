"""Sine, cosine and hyperbolic tangent in LLVM IR, for any number of lanes.

The argument is reduced by multiples of pi/2 in three parts, with the rounding errors carried along, and two
polynomials on [-pi/4, pi/4] follow: within 1 ulp up to 1e6. Beyond that the system's own functions answer,
for the lanes that need it and no others, so that no lane's result depends on its neighbours. Up to there no jump
depends on the argument: friction is a tangent, and steps in real time take the same instructions at every state.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

__all__ = ["FAST_LIMIT", "IRWriter", "number", "sincos_ir", "tanh_ir", "vector_type"]

FAST_LIMIT = 1e6
"""Largest magnitude for which the lanes' own reduction is used."""

_TWO_OVER_PI = 0.6366197723675814
_ROUNDING = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits
_HALF_PI = (1.5707963267948966, 6.12323399538461e-17, 3.5215598651832e-27)  # the second has 33 bits
_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)

_ONE_BEYOND = 20.0  # where 1 - tanh is a thirtieth of a rounding
_ONE_OVER_LN_2 = 1.4426950408889634
_LN_2 = (0.6931471803691238, 1.9082149292705877e-10)  # the first has 32 bits
_EXP = tuple(1.0 / math.factorial(n) for n in range(2, 15))


def vector_type(width: int, scalar: str = "double") -> str:
    """Return the LLVM type of `width` lanes.

    >>> vector_type(4), vector_type(1)
    ('<4 x double>', 'double')
    """
    return scalar if width == 1 else f"<{width} x {scalar}>"


def number(value: float, width: int = 1) -> str:
    """Return a constant, the same in every lane, exact to the bit.

    >>> number(1.0)
    '0x3FF0000000000000'
    """
    bits = "0x" + struct.pack(">d", value).hex().upper()
    return bits if width == 1 else "<" + ", ".join([f"double {bits}"] * width) + ">"


def _integer(value: int, width: int) -> str:
    """Return an integer constant, the same in every lane."""
    return str(value) if width == 1 else "<" + ", ".join([f"i64 {value}"] * width) + ">"


class IRWriter:
    """Writes the lines of a function of %x in lanes; `constant` writes the load of a number from the constants.

    >>> ir = IRWriter(1, lambda lines, value: number(value))
    >>> ir.mul("y", "%x", ir.const(2.0)), ir.lines
    ('%y', ['  %y = fmul double %x, 0x4000000000000000'])
    """

    def __init__(self, width: int, constant: Callable[[list[str], float], str]) -> None:
        self.T, self.I, self.B = vector_type(width), vector_type(width, "i64"), vector_type(width, "i1")
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.lines: list[str] = []
        self._constant, self._loaded = constant, dict[float, str]()

    def put(self, name: str, text: str) -> str:
        """Write a line that names a value."""
        self.lines.append(f"  %{name} = {text}")
        return f"%{name}"

    def const(self, value: float) -> str:
        """Return a number, loaded once."""
        if value not in self._loaded:
            self._loaded[value] = self._constant(self.lines, value)
        return self._loaded[value]

    def mul(self, name: str, a: str, b: str) -> str:
        """Write a b."""
        return self.put(name, f"fmul {self.T} {a}, {b}")

    def add(self, name: str, a: str, b: str) -> str:
        """Write a + b."""
        return self.put(name, f"fadd {self.T} {a}, {b}")

    def sub(self, name: str, a: str, b: str) -> str:
        """Write a - b."""
        return self.put(name, f"fsub {self.T} {a}, {b}")

    def fma(self, name: str, a: str, b: str, c: str) -> str:
        """Write a b + c, rounded once."""
        return self.put(name, f"call {self.T} @llvm.fma.{self.suffix}({self.T} {a}, {self.T} {b}, {self.T} {c})")

    def horner(self, name: str, coefficients: tuple[float, ...], z: str) -> str:
        """Write a polynomial in z, its constant term first."""
        value = self.const(coefficients[-1])
        for i, c in enumerate(reversed(coefficients[:-1])):
            value = self.fma(f"{name}{i}", value, z, self.const(c))
        return value


def sincos_ir(width: int, constant: Callable[[list[str], float], str]) -> str:
    """Return the functions `sincos{width}` and its slow companion as IR text.

    `constant` writes the load of a number, in all lanes, from the constants that the function is called with.
    """
    ir = IRWriter(width, constant)
    T, I, B, suffix, lines = ir.T, ir.I, ir.B, ir.suffix, ir.lines
    put, const, mul, add, sub, fma, horner = ir.put, ir.const, ir.mul, ir.add, ir.sub, ir.fma, ir.horner
    p1, p2, p3 = _HALF_PI
    # n = the nearest multiple of pi/2; r + l = x - n pi/2, with l the digits that do not fit into r
    t = fma("t", "%x", const(_TWO_OVER_PI), const(_ROUNDING))
    k = put("k", f"bitcast {T} {t} to {I}")
    n = sub("n", t, const(_ROUNDING))
    first = fma("first", n, const(-p1), "%x")  # exact
    second = mul("second", n, const(-p2))  # exact: 20 bits times 33
    r = add("r", first, second)
    part = sub("part", r, first)
    e1 = sub("e1", first, sub("rest", r, part))
    e2 = sub("e2", second, part)
    low = fma("low", n, const(-p3), add("e", e1, e2))
    z = mul("z", r, r)
    # sine: r + l - z l / 2 + r z (S1 + z (S2 + ...))
    v = mul("v", z, r)
    tail = horner("s", _SIN[1:], z)
    half_low = mul("hl", low, const(0.5))
    inner = fma("i0", put("nv", f"fneg {T} {v}"), tail, half_low)
    inner = fma("i1", z, inner, put("nlow", f"fneg {T} {low}"))
    inner = fma("i2", put("nv1", f"fneg {T} {v}"), const(_SIN[0]), inner)
    sine = sub("sine", r, inner)
    # cosine: 1 - z / 2 + z^2 (C1 + ...) - r l
    hz = mul("hz", z, const(0.5))
    w = sub("w", const(1.0), hz)
    wl = sub("wl", sub("w1", const(1.0), w), hz)
    poly = horner("c", _COS, z)
    zz = mul("zz", z, z)
    rl = fma("rl", put("nr", f"fneg {T} {r}"), low, wl)
    cosine = add("cosine", w, fma("ct", zz, poly, rl))
    # the quadrant: odd ones swap, bit by bit, so that no jump depends on the angle; and two bits give the signs
    one, two = _integer(1, width), _integer(2, width)
    put("odd", f"and {I} {k}, {one}")
    put("swap", f"sub {I} {_integer(0, width)}, %odd")
    put("b0", f"bitcast {T} {sine} to {I}")
    put("b1", f"bitcast {T} {cosine} to {I}")
    put("differ", f"xor {I} %b0, %b1")
    put("exchanged", f"and {I} %differ, %swap")
    put("sb", f"xor {I} %b0, %exchanged")
    put("cb", f"xor {I} %b1, %exchanged")
    shift = _integer(62, width)
    put("ks", f"and {I} {k}, {two}")
    put("ss", f"shl {I} %ks, {shift}")
    put("k1", f"add {I} {k}, {one}")
    put("kc", f"and {I} %k1, {two}")
    put("sc", f"shl {I} %kc, {shift}")
    put("sx", f"xor {I} %sb, %ss")
    put("cx", f"xor {I} %cb, %sc")
    put("sin", f"bitcast {I} %sx to {T}")
    put("cos", f"bitcast {I} %cx to {T}")
    put("size", f"call {T} @llvm.fabs.{suffix}({T} %x)")
    put("big", f"fcmp ugt {T} %size, {const(FAST_LIMIT)}")
    put("p0", f"insertvalue {{{T}, {T}}} poison, {T} %sin, 0")
    put("pair", f"insertvalue {{{T}, {T}}} %p0, {T} %cos, 1")
    if width == 1:
        lines.append("  br i1 %big, label %slow, label %done")
    else:
        put("mask", f"bitcast {B} %big to i{width}")
        put("some", f"icmp ne i{width} %mask, 0")
        lines.append("  br i1 %some, label %slow, label %done")
    lines += [
        "slow:",
        f"  %far = call {{{T}, {T}}} @sincos{width}_far({T} %x, {B} %big, {{{T}, {T}}} %pair)",
        f"  ret {{{T}, {T}}} %far",
        "done:",
        f"  ret {{{T}, {T}}} %pair",
    ]
    head = f"define internal {{{T}, {T}}} @sincos{width}({T} %x, ptr noalias %constants) #0 {{\n"
    return head + "\n".join(lines) + "\n}\n" + _far_ir(width)


def tanh_ir(width: int, constant: Callable[[list[str], float], str]) -> str:
    """Return the function `tanh{width}` as IR text, without a jump.

    With e = exp(2 |x|) - 1 it is e / (e + 2), and e = 2^k p + (2^k - 1), with p = exp(r) - 1 by its series, where
    r = 2 |x| - k ln 2 is at most ln 2 / 2. Beyond |x| = 20 the tangent is one.
    """
    ir = IRWriter(width, constant)
    T, I, B, suffix, put, const = ir.T, ir.I, ir.B, ir.suffix, ir.put, ir.const
    size = put("size", f"call {T} @llvm.fabs.{suffix}({T} %x)")
    put("far", f"fcmp ogt {T} {size}, {const(_ONE_BEYOND)}")  # false for what is no number, which remains none
    near = put("near", f"select {B} %far, {T} {const(_ONE_BEYOND)}, {T} {size}")
    y = ir.add("y", near, near)
    t = ir.fma("t", y, const(_ONE_OVER_LN_2), const(_ROUNDING))
    k = ir.sub("k", t, const(_ROUNDING))
    minus_k = put("mk", f"fneg {T} {k}")
    r = ir.fma("r", minus_k, const(_LN_2[1]), ir.fma("r0", minus_k, const(_LN_2[0]), y))
    p = ir.fma("p", ir.mul("rr", r, r), ir.horner("e", _EXP, r), r)
    put("bits", f"bitcast {T} {t} to {I}")
    put("exponent", f"add {I} %bits, {_integer(1023, width)}")
    put("shifted", f"shl {I} %exponent, {_integer(52, width)}")
    power = put("power", f"bitcast {I} %shifted to {T}")
    e = ir.fma("ex", power, p, ir.sub("rest", power, const(1.0)))
    put("ratio", f"fdiv {T} {e}, {ir.add('below', e, const(2.0))}")
    put("result", f"call {T} @llvm.copysign.{suffix}({T} %ratio, {T} %x)")
    head = f"define internal {T} @tanh{width}({T} %x, ptr noalias %constants) #0 {{\n"
    return head + "\n".join(ir.lines) + f"\n  ret {T} %result\n}}\n"


def _far_ir(width: int) -> str:
    """Return the slow companion: the system's functions for the lanes that are far out."""
    T, B = vector_type(width), vector_type(width, "i1")
    pair = f"{{{T}, {T}}}"
    lines = [
        f"define internal {pair} @sincos{width}_far({T} %x, {B} %big, {pair} %p) #1 {{",
        "  br label %l0",
    ]
    for i in range(width):
        lines.append(f"l{i}:")
        before = "%p" if i == 0 else f"%q{i - 1}"
        if i:
            kept = "%p" if i == 1 else f"%q{i - 2}"
            lines.append(f"  {before} = phi {pair} [{kept}, %l{i - 1}], [%b{i - 1}, %f{i - 1}]")
        if width == 1:
            lines.append(f"  br i1 %big, label %f{i}, label %l{i + 1}")
            x = "%x"
        else:
            lines.append(f"  %m{i} = extractelement {B} %big, i32 {i}")
            lines.append(f"  br i1 %m{i}, label %f{i}, label %l{i + 1}")
            x = f"%x{i}"
        lines.append(f"f{i}:")
        if width > 1:
            lines.append(f"  {x} = extractelement {T} %x, i32 {i}")
        lines.append(f"  %sv{i} = call double @sin(double {x})")
        lines.append(f"  %cv{i} = call double @cos(double {x})")
        if width == 1:
            lines.append(f"  %a{i} = insertvalue {pair} {before}, double %sv{i}, 0")
            lines.append(f"  %b{i} = insertvalue {pair} %a{i}, double %cv{i}, 1")
        else:
            lines.append(f"  %so{i} = extractvalue {pair} {before}, 0")
            lines.append(f"  %co{i} = extractvalue {pair} {before}, 1")
            lines.append(f"  %sn{i} = insertelement {T} %so{i}, double %sv{i}, i32 {i}")
            lines.append(f"  %cn{i} = insertelement {T} %co{i}, double %cv{i}, i32 {i}")
            lines.append(f"  %a{i} = insertvalue {pair} {before}, {T} %sn{i}, 0")
            lines.append(f"  %b{i} = insertvalue {pair} %a{i}, {T} %cn{i}, 1")
        lines.append(f"  br label %l{i + 1}")
    last = width - 1
    lines.append(f"l{width}:")
    before = "%p" if last == 0 else f"%q{last - 1}"
    lines.append(f"  %q{last} = phi {pair} [{before}, %l{last}], [%b{last}, %f{last}]")
    lines.append(f"  ret {pair} %q{last}")
    lines.append("}")
    return "\n".join(lines) + "\n"
