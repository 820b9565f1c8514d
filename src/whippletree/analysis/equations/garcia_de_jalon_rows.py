"""The equations of Garcia de Jalon and Bayo, chapter 8, as text; `garcia_de_jalon_equations` has their letters."""

__all__ = ["PLACES", "ROWS"]

PLACES = {
    "GA": "formulations.recursions.ground_axes",
    "KI": "formulations.recursions.kinematics",
    "CB": "formulations.recursions.composite_body",
    "FR": "formulations.methods.fully_recursive",
    "VT": "formulations.methods.velocity_transformation",
    "JM": "formulations.methods.joint_multipliers",
    "IC": "formulations.methods.independent_coordinates",
    "PE": "formulations.methods.penalty",
    "NA": "formulations.methods.natural",
    "NT": "formulations.natural.natural_transformation",
    "NE": "formulations.natural.natural_equations",
    "NC": "formulations.natural.natural_conditions",
    "OC": "formulations.natural.opened_chains",
    "OS": "formulations.natural.opened_solution",
    "NS": "natural.natural_steps",
    "PT": "formulations.closures.partition",
    "CS": "formulations.closures.closure_set",
    "ME": "system.matrix_equations",
    "TM": "system.text_matrices",
    "SP": "spatial",
    "JT": "elements.joints",
}
"""Short names of modules below `whippletree`."""

ROWS = """
8.1 A efforts that a given motion needs, by Newton and Euler body after body
  by_inverse == tau_all
  in CB.inverse_dynamics: newton_euler
8.2 A the joints' equations: inertia and all other terms against the motors
  Mt @ dd_theta + b == tau_all
  in CB.mass_matrix: compose
8.3 D all terms without accelerations, as one column
8.4 A accelerations from efforts
  by_composite == inv(Mt) @ (tau_all - b)
  in CB.forward_dynamics: equations
8.5 A the terms without accelerations are the efforts of none
  b == by_inverse_at_zero
  in CB.newton_euler: accelerate
8.6 A columns of the mass matrix are the efforts of unit accelerations at rest
  Mt == by_units
  in CB.compose: children
  print gravity has to be off too
8.7 A axes of a body from those of its parent
  A[j] == A[i] @ turn[j]
  in KI.place: pose
  on revolute
8.8 A angular velocity along hinges
  w[j] == w[i] + u[j] * d_q[j][0]
  in KI.move: V
  print z for z'
  on revolute
8.9 A velocity of a centre along hinges
  d_rc[j] == d_rc[i] + cross(w[i], rc[j] - rc[i]) + d_q[j][0] * cross(u[j], rho[j])
  in KI.move: V
  on revolute
8.10 A both in one column
  Y[j] == T(rc[j] - rc[i]) @ Y[i] + stack(u[j], cross(u[j], rho[j])) * d_q[j][0]
  in KI.move: V
  on revolute
8.11 A the same, with B and b
  Y[j] == B1[j] @ Y[i] + B2[j] @ d_q[j]
  in GA._locate: B2, step
8.12 A accelerations along the chain
  d_Y[j] == B1[j] @ d_Y[i] + B2[j] @ dd_q[j] + D[j]
  in GA._locate: B2, D
8.13 A what velocities alone give
  D[j] == rate(B1[j]) @ Y[i] + rate(B2[j]) @ d_q[j]
  in GA._locate: D
  print dots are lost
8.14 S virtual power of the chain
8.15 A inertia of a link at its centre
  M[j] == diag(J[j], m[j] * eye(3))
  in GA._locate: M
8.16 A force of a link, less the gyroscopic moment
  Q[j] == stack(-cross(w[j], J[j] @ w[j]), F[j])
  in GA._locate: Q
8.17 S the last two links apart
8.18 S motion of the last link put in
8.19 S sorted by virtual velocities
8.20 S what stands at the last joint's virtual velocity vanishes
8.21 S acceleration of the last joint, (8.27) for i = N; its left half is lost
8.22 S inertia of the last but one link with what hangs on it
8.23 S its force
8.24 S virtual power with one link less, which ends with the force of link N - 1
8.25 A inertia of a link with all that hangs on it
  c = Mb['c'] @ B2['c'] @ inv(B2['c'].T @ Mb['c'] @ B2['c']) @ B2['c'].T @ Mb['c'];
  Mb['b'] == M['b'] + B1['c'].T @ (Mb['c'] - c) @ B1['c'];
  M11[j] == B1[j].T @ Mb[j] @ B1[j]
  in FR.eliminate: M
8.26 A force of a link with all that hangs on it
  left = Qb['c'] - Mb['c'] @ D['c'];
  c = Mb['c'] @ B2['c'] @ inv(B2['c'].T @ Mb['c'] @ B2['c']);
  Qb['b'] == Q['b'] + B1['c'].T @ (left - c @ (B2['c'].T @ left + tau['c']));
  Q1[j] == B1[j].T @ (Qb[j] - Mb[j] @ D[j])
  in FR.eliminate: Q
  print the motor's effort is missing
8.27 A acceleration of a joint from the parent's
  dd_q_found[j] == inv(B2[j].T @ Mb[j] @ B2[j]) @ (B2[j].T @ (Qb[j] - Mb[j] @ (B1[j] @ d_Y[i] + D[j])) + tau[j])
  in FR._accelerated: M21, Q2
  print the motor's effort is missing
8.28 S a first link that floats
8.29 A its acceleration
  d_Y['a'] == inv(Mb['a']) @ (Qb['a'] + inv(B2['a']).T @ tau['a']);
  dd_q_found['a'] == dd_q['a']
  in JT.free.Free.joint_map: ca
8.30 A conditions between dependent coordinates
  Phi_n == 0
  in NC.natural_conditions: model
8.31 D velocities need not be rates of coordinates
8.32 A velocities from the rates of coordinates
  d_theta == V @ rate(theta)
  in TM._garcia_de_jalon: velocities
8.33 A rates of coordinates from velocities
  rate(theta) == U @ d_theta
  in TM._garcia_de_jalon: rates
8.34 A velocities of bodies from those of joints; S b is for conditions that move
  Y_all == R @ d_z
  in VT.velocity_map: row
8.35 A accelerations of points and vectors
  rate(d_x_n) == R_n @ dd_theta + S_n
  in NT.element_motions: S
8.36 A a column of R is what one unit rate moves
  R_n @ d_theta == d_x_n
  in NT.element_columns: seen
8.37 A R keeps the conditions
  Phi_q @ R_n == 0
  in NT.element_columns: seen
8.38 A equations of motion, R from both sides
  R_n.T @ M_n @ (R_n @ by_A + S_n) == R_n.T @ Q_n + tau_all
  in NT.transformed: mass, force
8.39 A centre of a body
  rc[j] == r[j] + A[j] @ local[j]
  in KI.place: pose
8.40 A unit vectors turn with their bodies
  n == turned
  in NE.NaturalMotion.of: x, R
8.41 A input point of the next body
  r[j] == r[i] + A[i] @ (A[i].T @ s[j]) + d[j]
  in KI.place: pose
8.42 A rotation of the next body
  A[j] == A[i] @ turn_ij[j]
  in KI.place: pose
8.43 A hinges displace nothing
  r[j] - r[i] - s[j] == 0
  in JT.revolute.Revolute.shift: Shift
  on revolute
8.44 A hinges turn about their axes
  A[j] @ A[i].T == A[i] @ turn[j] @ A[i].T
  in JT.revolute.Revolute.shift: Shift
  on revolute
8.45 A the rotation about an axis
  c = local_axis[j];
  A[i].T @ A[j] == eye(3) + tilde(c) @ tilde(c) * (1 - cos(q[j][0])) + tilde(c) * sin(q[j][0])
  in SP.rotation.axis_angle: c, s
  on revolute
8.46 A slides displace along their axes
  r[j] - r[i] - s[j] == u[j] * q[j][0]
  in JT.prismatic.Prismatic.shift: Shift
  on prismatic
8.47 A slides do not turn
  A[j] == A[i]
  in JT.prismatic.Prismatic.shift: Shift
  on prismatic
8.48 A cylindrical joints displace
  r[j] - r[i] - s[j] == u[j] * q[j][1]
  in JT.cylindrical.Cylindrical.shift: Shift
  on cylindrical
8.49 A and turn
  A[j] == A[i] @ turn[j]
  in JT.cylindrical.Cylindrical.shift: Shift
  on cylindrical
8.50 A balls displace nothing
  r[j] - r[i] - s[j] == 0
  in JT.spherical.Spherical.shift: Shift
  on spherical
8.51 A and turn by their parameters, in the parent's axes
  A[j] == A[i] @ turn_ij[j]
  in JT.spherical.Spherical.shift: Shift
  print the two factors stand the other way round, against (8.61) and (8.81)
  on spherical
8.52 A rotation of Euler parameters
  e = q[j][1:];
  A[i].T @ A[j] == (2 * q[j][0] * q[j][0] - 1) * eye(3) + 2 * (outer(e, e) + q[j][0] * tilde(e))
  in SP.rotation.rotation_of_quaternion: e
  print the tilde is lost
  on spherical
8.53 A universal joints displace nothing
  r[j] - r[i] - s[j] == 0
  in JT.universal.Universal.shift: Shift
  on universal
8.54 A their first axis goes with the parent
  B2_J[j][:3, 0] == A[i][:, 0]
  in JT.universal.Universal.joint_map: ca
  on universal
8.55 A their second axis is turned by the first angle
  B2_J[j][:3, 1] == A[i] @ rot(eye(3)[0], q[j][0]) @ eye(3)[1]
  in JT.universal.Universal.joint_map: ca
  on universal
8.56 A both turns
  A[j] == A[i] @ rot(eye(3)[0], q[j][0]) @ rot(eye(3)[1], q[j][1])
  in JT.universal.Universal.shift: Shift
  on universal
8.57 D coordinates of a floating base
8.58 A its point
  r[j] == q[j][4:]
  in JT.free.Free.shift: Translation
  on all free
8.59 A its rotation
  A[j] == turn_ij[j]
  in JT.free.Free.shift: Rotation
  on all free
8.60 A formulation A: velocity of the next input point
  d_r[j] == d_r[i] + cross(w[i], s[j]) + rate(d[j])
  in KI.move: V
8.61 A angular velocity of the next body
  w[j] == w[i] + B2_J[j][:3] @ d_q[j]
  in GA._locate: w, w_ij
8.62 A velocity of another point of it
  Y_p[j][3:] == d_r[j] + cross(w[j], p[j] - r[j])
  in KI.move: V
8.63 A velocity of a first vector
  d_n[0] == cross(w_n[0], n[0])
  in NE.NaturalMotion.of: w, turning
8.64 A velocity of a second vector
  d_n[1] == cross(w_n[1], n[1])
  in NE.NaturalMotion.of: w, turning
8.65 A acceleration of the next input point
  dd_r[j] == dd_r[i] + cross(d_w[i], s[j]) + cross(w[i], cross(w[i], s[j])) + rate(rate(d[j]))
  in KI.accelerate: alpha
  digits 7
8.66 A angular acceleration of the next body
  d_w[j] == d_w[i] + rate(B2_J[j][:3] @ d_q[j])
  in KI.accelerate: alpha
  print the order of j and k is turned round, without a sign
8.67 A acceleration of another point of it
  d_Y_p[j][3:] == dd_r[j] + cross(d_w[j], p[j] - r[j]) + cross(w[j], cross(w[j], p[j] - r[j]))
  in KI.accelerate: alpha
8.68 A acceleration of a first vector
  dd_n[0] == cross(rate(w_n[0]), n[0]) + cross(w_n[0], cross(w_n[0], n[0]))
  in NT.element_motions: S
8.69 A acceleration of a second vector
  dd_n[1] == cross(rate(w_n[1]), n[1]) + cross(w_n[1], cross(w_n[1], n[1]))
  in NT.element_motions: S
8.70 A hinges: no displacement, no rates of it
  B2_J[j][3:] == 0
  in JT.revolute.Revolute.joint_map: ca
  on revolute
8.71 A relative angular velocity
  B2_J[j][:3] @ d_q[j] == d_q[j][0] * u[j]
  in GA._locate: w_ij
  on revolute
8.72 A its rate, the axis turning with the parent
  d_w[j] - d_w[i] == dd_q[j][0] * u[j] + d_q[j][0] * cross(w[i], u[j])
  in KI.accelerate: alpha
  on revolute
8.73 A slides: rate of the displacement
  d_r[j] - d_r[i] - cross(w[i], s[j]) == d_q[j][0] * u[j] + q[j][0] * cross(w[i], u[j])
  in KI.move: V
  on prismatic
8.74 A they do not turn
  B2_J[j][:3] == 0
  in JT.prismatic.Prismatic.joint_map: ca
  on prismatic
8.75 A second rate of the displacement, with Coriolis' term
  dd_r[j] - dd_r[i] - cross(d_w[i], s[j]) - cross(w[i], cross(w[i], s[j])) ==
    dd_q[j][0] * u[j] + 2 * d_q[j][0] * cross(w[i], u[j])
    + q[j][0] * (cross(d_w[i], u[j]) + cross(w[i], cross(w[i], u[j])))
  in KI.accelerate: alpha
  on prismatic
8.76 A cylindrical joints: rate of the displacement
  d_r[j] - d_r[i] - cross(w[i], s[j]) == d_q[j][1] * u[j] + q[j][1] * cross(w[i], u[j])
  in KI.move: V
  print the coordinate of the second term is lost
  on cylindrical
8.77 A relative angular velocity
  w[j] - w[i] == d_q[j][0] * u[j]
  in KI.move: V
  on cylindrical
8.78 A second rate of the displacement
  dd_r[j] - dd_r[i] - cross(d_w[i], s[j]) - cross(w[i], cross(w[i], s[j])) ==
    dd_q[j][1] * u[j] + 2 * d_q[j][1] * cross(w[i], u[j])
    + q[j][1] * (cross(d_w[i], u[j]) + cross(w[i], cross(w[i], u[j])))
  in KI.accelerate: alpha
  on cylindrical
8.79 A relative angular acceleration
  d_w[j] - d_w[i] == dd_q[j][0] * u[j] + d_q[j][0] * cross(w[i], u[j])
  in KI.accelerate: alpha
  print the displacement's coordinate for the rotation's
  on cylindrical
8.80 A balls: no displacement
  B2_J[j][3:] == 0
  in JT.spherical.Spherical.joint_map: ca
  on spherical
8.81 A angular velocity from the rates of parameters
  w[j] - w[i] == 2 * A[i] @ cols(-q[j][1:], q[j][0] * eye(3) + tilde(q[j][1:])) @ rate(q[j])
  in KI.move: V
  print the parent's axes are missing
  on spherical
8.82 A rates of parameters, here from velocities in the child's axes
  rate(q[j]) == 0.5 * cols(-q[j][1:], q[j][0] * eye(3) - tilde(q[j][1:])).T @ d_q[j];
  rate(theta) == U @ d_theta
  in JT.spherical.quaternion_rates: e
  on spherical
8.83 A angular acceleration from second rates of parameters
  d_w[j] - d_w[i] == 2 * A[i] @ cols(-q[j][1:], q[j][0] * eye(3) + tilde(q[j][1:])) @ rate(rate(q[j]))
    + cross(w[i], w[j] - w[i])
  in KI.accelerate: alpha
  print the turning of the parent is missing
  on spherical
  digits 7
8.84 A universal joints: no displacement
  B2_J[j][3:] == 0
  in JT.universal.Universal.joint_map: ca
  print dots are lost
  on universal
8.85 A rate of the second axis
  rate(B2_J[j][:3, 1]) == cross(w[i] + d_q[j][0] * B2_J[j][:3, 0], B2_J[j][:3, 1])
  in JT.universal.Universal.joint_map: ca
  on universal
8.86 A angular velocity
  w[j] == w[i] + d_q[j][0] * B2_J[j][:3, 0] + d_q[j][1] * B2_J[j][:3, 1]
  in JT.universal.Universal.joint_map: ca
  on universal
8.87 A angular acceleration
  d_w[j] == d_w[i] + dd_q[j][0] * B2_J[j][:3, 0] + dd_q[j][1] * B2_J[j][:3, 1]
    + d_q[j][0] * rate(B2_J[j][:3, 0]) + d_q[j][1] * rate(B2_J[j][:3, 1])
  in JT.universal.Universal.joint_bias: v
  on universal
8.88 A formulation B: inertia of a body, its tensor in ground axes
  M[j] == diag(A[j] @ J_local[j] @ A[j].T, m[j] * eye(3))
  in GA._locate: M
8.89 A velocity of an output point
  Y_p[j][3:] == d_rc[j] + cross(w[j], p[j] - rc[j])
  in KI.move: V
8.90 A rate of a unit vector
  rate(B2_J[j][:3, 0]) == cross(w[i], B2_J[j][:3, 0])
  in GA._locate: axes
  on revolute cylindrical
8.91 A velocity of the next input point
  d_r[j] == d_rc[i] + cross(w[i], r[i] + s[j] - rc[i]) + rate(d[j])
  in KI.move: V
8.92 A next angular velocity
  w[j] == w[i] + B2_J[j][:3] @ d_q[j]
  in GA._locate: w, w_ij
8.93 A rate of the next body's unit vector
  rate(A[j] @ local_axis[j]) == cross(w[j], A[j] @ local_axis[j])
  in KI.place: pose
  on revolute cylindrical prismatic
8.94 A velocity of the next centre
  d_rc[j] == d_r[j] + cross(w[j], rho[j])
  in KI.move: V
8.95 A acceleration of an output point
  d_Y_p[j][3:] == dd_rc[j] + cross(d_w[j], p[j] - rc[j]) + cross(w[j], cross(w[j], p[j] - rc[j]))
  in KI.accelerate: alpha
8.96 A next angular acceleration
  d_w[j] == d_w[i] + B2_J[j][:3] @ dd_q[j] + rate(B2_J[j][:3]) @ d_q[j]
  in KI.accelerate: alpha
8.97 A acceleration of the next input point
  dd_r[j] == dd_rc[i] + cross(d_w[i], r[i] + s[j] - rc[i]) + cross(w[i], cross(w[i], r[i] + s[j] - rc[i]))
    + rate(rate(d[j]))
  in KI.accelerate: alpha
  digits 7
8.98 A acceleration of the next centre
  dd_rc[j] == dd_r[j] + cross(d_w[j], rho[j]) + cross(w[j], cross(w[j], rho[j]))
  in KI.accelerate: alpha
8.99 D R of a body: blocks of the joints on its path
8.100 A block of a hinge
  R_own[j][:, 0] == stack(u[j], cross(u[j], rc[j] - r[j]))
  in VT.velocity_map: row
  on revolute
8.101 A block of a slide
  R_own[j][:, 0] == stack(zeros(3), u[j])
  in VT.velocity_map: row
  on prismatic
8.102 A block of a cylindrical joint
  R_own[j] == cols(stack(u[j], cross(u[j], rc[j] - r[j])), stack(zeros(3), u[j]))
  in VT.velocity_map: row
  on cylindrical
8.103 A block of a ball, along the ground's axes
  R_own[j] == rows(eye(3), -tilde(rc[j] - r[j]))
  in GA.level_map: node
  on spherical
8.104 A block of a universal joint
  c = A[i][:, 0];
  e = A[i] @ rot(eye(3)[0], q[j][0]) @ eye(3)[1];
  R_own[j] == cols(stack(c, cross(c, rc[j] - r[j])), stack(e, cross(e, rc[j] - r[j])))
  in VT.velocity_map: row
  on universal
8.105 A block of a floating base
  R_own[j] == block([[eye(3), zeros((3, 3))], [-tilde(rc[j] - r[j]), eye(3)]])
  in GA.level_map: node
  on all free
8.106 A inertia tensor in ground axes
  M[j][:3, :3] == A[j] @ J_local[j] @ A[j].T
  in SP.inertia.RigidInertia.rotated: R
8.107 A mass matrix, body after body
  to_ground.T @ R.T @ M_all @ R @ to_ground == Mt;
  Mt @ by_B == tau_all - b
  in VT._assemble: heavy, block
8.108 A velocities of the open chain and of what closes it
  C @ d_theta == 0
  in CS.ClosureSet._closure_state: rate
  on closed
  digits 8
8.109 A the open chain's conditions are kept
  Phi_q @ R_n == 0
  in NT.element_columns: seen
8.110 A velocities of the open chain
  dd_theta == by_A
  in OC.OpenChains.velocity_map: ElementBlocks
  on closed
8.111 A accelerations of the open chain
  dd_theta == by_A
  in OC.OpenChains.accelerations: U
  on closed
8.112 S all conditions with multipliers
8.113 S projected by R1; the first row of (8.112) is meant
8.114 A what is left: the multipliers of what closes the loops
  block([[Mt, C.T], [C, zeros((len(C), len(C)))]]) @ stack(by_B, -lam) == stack(tau_all - b, -rate(C) @ d_theta)
  in VT.closures: second, R
  on closed
8.115 A penalty with stabilising terms
  open['C'] @ open['a'] == -open['square'] - 2 * Omega * open['rate'] - Omega**2 * open['gap']
  in PE._stabilised: omega, mu
  print a sign and a dot are lost in the bracket
  on closed
  digits 6
8.116 A loops on accelerations
  C @ dd_theta == -rate(C) @ d_theta
  in CS.ClosureSet._closure_state: second
  on closed
8.117 A independent accelerations are some of all
  E[ind] == eye(len(ind))
  in PT.eliminate: choice
  on closed
8.118 S both together; the right side is that of (8.116)
8.119 A all accelerations from independent ones
  by_A_independent == E @ by_A_independent[ind] + rate(E) @ d_theta[ind]
  in OS.solve_independent: pivots
  print a second equals sign before the vector that the inverse multiplies
  on closed
  digits 8
8.120 A minimal equations of motion
  E.T @ Mt @ E @ by_B_independent[ind] == E.T @ (tau_all - b - Mt @ rate(E) @ d_theta[ind])
  in IC.solve: mass, right
  print a bar is lost
  on closed
  digits 8
8.121 D potential of the conditions
8.122 D their dissipation
8.123 A motion with the forces of penalties
  M_x @ a_1 + Phi_x.T @ (alpha * (Phi_1 + mu * d_Phi_1)) - Q_x == f_1 - Phi_x.T @ lam_0
  in NS.NaturalSteps._residual: point
8.124 A with multipliers beside them
  M_x @ a_1 + Phi_x.T @ (alpha * (Phi_1 + mu * d_Phi_1) + lam_0) - Q_x == f_1
  in NS.NaturalSteps._residual: lam
8.125 A the multipliers of both
  M_x @ a_1 + Phi_x.T @ lam_next - Q_x == f_1
  in NS.NaturalSteps._held: alpha, mu
8.126 A corrected multipliers
  lam_next == lam_0 + alpha * (Phi_1 + mu * d_Phi_1)
  in NS.NaturalSteps.corrected: column
  print said to be the limit of the first ones, which is that of the i-th
8.127 A trapezoidal rule
  x_1 == x_0 + h / 2 * (v_0 + v_1);
  v_1 == v_0 + h / 2 * (a_0 + a_1)
  in NS.NaturalSteps._point: x, v, a
8.128 A velocities and accelerations from positions
  v_1 == 2 / h * x_1 - (v_0 + 2 / h * x_0);
  a_1 == 4 / h / h * x_1 - (a_0 + 4 / h * v_0 + 4 / h / h * x_0)
  in NS.NaturalSteps._point: x, v, a
8.129 A what they keep of the step before
  v_1 - 2 / h * x_1 == -(v_0 + 2 / h * x_0)
  in NS.NaturalSteps._point: v0
8.130 S equations in the new positions, where a force of multipliers is missing
8.131 A Newton's step
  (4 / h / h * M_x + beta * Phi_x.T @ Phi_x) @ (d_next - d_step) == -f_1
  in NS.NaturalSteps.iterated: change, f
8.132 A what is left of the equations
  f_1 == M_x @ a_1 + Phi_x.T @ (alpha * (Phi_1 + mu * d_Phi_1) + lam_0) - Q_x
  in NS.NaturalSteps._residual: point
  print the force of the multipliers is missing
8.133 A full tangent matrix; moving forces and conditions add their own
  K_full == 4 / h / h * M_x + beta * Phi_x.T @ Phi_x + curved + alpha * mu * Phi_x.T @ rate_x
  in NS.NaturalSteps._residual: point
  print forces with rates and moving conditions are missing
8.134 A its symmetric part without curvature, here without that of forces
  (4 / h / h * M_x + beta * Phi_x.T @ Phi_x) @ (d_next - d_step) == -f_1
  in NS.NaturalSteps._tangent: beta
8.135 A predictor
  d_predicted == h * v_0 + h * h / 2 * a_0
  in NS.NaturalSteps.predicted: v, a
"""
"""The rows, as `equation.rows` reads them."""
