"""The limits and tolerances of this room, each with its meaning."""

LARGEST_FILE = 64_000_000
"""Bytes of a model file: the largest of published robots have 0.3 million."""

MOST_ELEMENTS = 1_000_000
"""Elements of an XML file."""

MOST_LINKS = 10_000
"""Links of a model that another program has written: each takes about a millisecond to read."""

MOST_LEVELS = 200
"""Levels to which elements of an XML file are nested; a chain of bodies is a level for each body in some formats."""

MOST_INCLUDES = 200
"""Files that a file may draw in, all in all."""

ZERO_AXIS = 1e-8
"""The length below which an axis has no direction: files are rounded to six digits and more."""

OPEN_LOOP = 1e-6
"""Metres or radians by which a loop is open at the start before that is said: files are rounded."""

SINGLE_PRECISION = 1e-5
"""Metres or radians that bodies may be off from where their joints hold them, in a format of single precision."""

ROUNDED = 1e-10
"""Metres or radians by which a loop is open at the start before its data count as rounded."""

PARALLEL = 1e-6
"""Radians between axes that count as parallel, and metres between points that count as one: data are rounded."""

NEGATIVE_INERTIA = 1e-9
"""How far below zero a principal moment may be, relative to the largest: rounding."""

STOP_STIFFNESS = 1e4
"""N m/rad or N/m of stops that were asked for without a stiffness: a guess, which the report says."""

SMALLEST_GYRATION = 1e-8
"""Metres: a negative moment of inertia no larger than that of the mass at this distance is rounding."""

MOST_COPIES = 10_000
"""Copies of bodies that one element of an MJCF file may ask for."""

NO_BOUND = 1e16
"""Written for the end of a range that is open, where a format wants a number; SDF has it so."""

UNBOUNDED = 1e15
"""From this on a limit says that there is none."""

ROUNDING = 1e-12
"""Relative rounding of a sum of moments of inertia."""

LARGEST_MESH = 100_000_000
"""Bytes of a mesh from which an inertia follows."""

MOST_MESH_LEVELS = 50
"""Levels to which nodes of a scene in a mesh file are nested."""

MOST_MESH_NUMBERS = 60_000_000
"""Numbers that a compressed part of a mesh file may hold."""

LEVELS_ABOVE = 6
"""How many folders above a model file those are looked for that a package's folder may stand in."""

MOST_CONTACTS = 500
"""Points on planes and pairs of bodies that become contacts unless more are asked for: each pair takes 0.07 s to
compile, each point 0.03 s."""

SINKING = 1e-3
"""Depth of a contact under the whole weight, relative to the largest dimension of the touching shape."""

CREEPING = 1e-3
"""The slip at which friction has taken hold, relative to the speed of a fall from the largest dimension, sqrt(g L)."""

STIFFEST_CONTACT = 1e3
"""How much stiffer than contacts of ours those of a file may be: from there on a file means that they are rigid."""

USUAL_FRICTION = 1.0
"""The friction coefficient of surfaces of which the file does not say it: that of SDF."""

USUAL_GRAVITY = 9.81
"""m/s^2, by which the stiffness of contacts follows from a mass where there is no gravity."""

HULL_CORNERS = 16
"""Corners by which a mesh touches a plane, if its hull has more."""

RIM_POINTS = 12
"""Points on each rim of a cylinder by which it touches a plane: between them it is 3.4 % of its radius farther out."""

FARTHEST_POINT = 1e12
"""Metres from its origin at which a mesh has no points."""
