"""Tolerances and limits of flexible bodies, each with the quantity it bounds and its reason."""

from __future__ import annotations

ZERO_SHARE = 1e-13
"""Entries of an integral or a mode below this share of the largest of their kind are rounding, and become zero: zeros
cost nothing when equations are traced.
"""

LARGEST_EXTENT = 1e50
"""The largest radius or width of a section, in metres: second moments go with its fourth power."""

SAME_PLACE = 1e-9
"""Fractions of a beam's length, and points in lengths of the body, that differ by less are the same."""

SYMMETRIC = 1e-8
"""How far matrices from a file may be from symmetric, in shares of their largest entry: they are printed with ten
digits and more."""

CONTRADICTION = 1e-3
"""Numbers that a file of standard input data holds twice may differ by this share of the largest entry: some programs
print few digits, or take one from nodes and the other from the mesh.
"""

RIGID_FORCE = 1e-6
"""A rigid motion of a free structure needs no force, up to this share of the forces that its parts would need. Node
coordinates are printed with seven digits and more."""

INDEFINITE = 1e-9
"""A stiffness below zero by more than this share of the largest is no rounding."""

DEPENDENT = 1e-12
"""Vectors of unit strain energy whose independent part has less energy than this depend on the others. It is the square
of the share in which they differ."""

TAKEN_UP = 1e-9
"""A load of which less than this share is left beside the forces that hold the frame bends nothing."""

IN_LINE = 1e-6
"""Nodes are in a line, and say nothing about rotation around it, if they are less than this share of their extent
beside it."""

SAME_FREQUENCY = 1e-9
"""Relative difference below which two frequencies are equal, as those of a round beam's two planes."""

FEW = 300
"""Up to so many coupled freedoms matrices are full; above, sparse factors and Lanczos's method are faster."""

DENSE = 3000
"""Up to so many coupled freedoms all modes can be found: their full matrices take some seconds then."""

ALL_SECOND_ORDER = 12
"""Up to so many modal coordinates the products of second-order displacements are integrated; there are n^4 of them."""

MOST_COORDINATES = 100
"""A beam has no more modes: its inertia couples each with each."""

MOST_NODAL = 1500
"""A beam has no more nodal displacements and rotations: its equations then have 90 000 operations, and take a minute to
compile."""

MOST_STATION_NUMBERS = 50_000
"""Up to so many numbers, second-order displacements are known at all nodes of a beam, for pictures and
deformations: 38 modes at eleven nodes. Interfaces have theirs in any case."""

MOST_STRESS_NUMBERS = 10_000_000
"""Stresses of unit modes in the fibres of a beam have no more numbers: 80 MB, 100 modes at 700 nodes of a round one."""

MOST_BEAM_ELEMENTS = 5000
"""A beam has no more elements: their integrals are then 100 MB, and the error of its frequencies is rounding long
before."""

STUBBY = 0.5
"""A section whose radius of gyration is more than this share of the beam's length is that of no beam. Beam theory fails
at a tenth of it."""

THREAD = 2e-5
"""A section whose radius of gyration is less than this share of the beam's length is a thread's: 2 mm in 100 m."""

DENSITIES = 1e-3, 3e4
"""Between these, in kg/m^3, is the mass of a structure over the volume of the box around it. Osmium has 22600; the
lightest lattices, in a box that they do not fill, stay above the lower end."""

WAVE_SPEED = 3e4
"""In m/s: the lowest frequency times the extent of a structure is below this. Sound in diamond has 18000."""

SLOWEST_WAVE = 1e-3
"""In m/s: the lowest frequency times the extent of a structure is hardly below this. A foil of 100 m has 1."""

SOUND = 0.3, WAVE_SPEED
"""Between these, in m/s, is the speed of sound in a material; the softest gels have half a metre a second."""
