"""The equations of Critchley and Anderson's paper, as text; `critchley_anderson_equations` has their letters."""

__all__ = ["PLACES", "ROWS"]

PLACES = {
    "KI": "formulations.recursions.kinematics",
    "CB": "formulations.recursions.composite_body",
    "AB": "formulations.recursions.articulated_body",
    "CR": "formulations.methods.coordinate_reduction",
    "FN": "formulations.closures.fronts",
    "LR": "formulations.closures.loop_results",
    "LI": "analysis.literal.printed_reduction",
}
"""Short names of modules below `whippletree`."""

ROWS = """
1 D velocities in a part explicit in speeds, and a rest
2 D accelerations in a part explicit in the speeds' derivatives, and a rest
3 A velocities along a chain
  V_k[j] == S[j].T @ V_k[i] + P[j] @ u_k[j]
  in KI.move: V
  on real
4 A accelerations along a chain
  A_k[j] == S[j].T @ A_k[i] + P[j] @ d_u[j]
  in KI.accelerate: alpha
  on real
5 A partial velocity of a body by a speed before it
  J_k[7][:, 2:3] == lever_of(r_k[7] - r_k[2]) @ P[2]
  in KI.frame_jacobian: axes
6 D shifts over several bodies; zero off the path
7 A Kane's equations of a tree
  max(abs(total(J_k[k].T @ (I[k] @ A_k[k] - F_k[k]) for k in range(8)))) == 0;
  max(abs(by_inverse - tau_all)) == 0
  in CB.inverse_dynamics: newton_euler
  digits 12
8 S the same with shifts to the body of the speed
9 S the form that an equation is assumed to have
10 A recursion begins with a tip's own inertia and force
  tips['I'][7] == I[7];
  P[7].T @ (tips['I'][7] @ A_k[7] - tips['F'][7]) == 0
  in AB.eliminate_joint: terms
11 S accelerations put in; (9) is meant for (10)
12 A derivative of a speed from the parent's acceleration
  d_u[j] == -inv(P[j].T @ tips['I'][j] @ P[j]) @ P[j].T @ (tips['I'][j] @ S[j].T @ A_k[i] - tips['F'][j])
  in AB.find_acceleration: y
  on real
13 A pivots
  (P[j].T @ tips['I'][j] @ P[j]) @ d_u[j] == -P[j].T @ (tips['I'][j] @ S[j].T @ A_k[i] - tips['F'][j])
  in AB.eliminate_joint: factors
  on real
14 S equation of the parent, summed over what hangs on it
15 S its own body taken out
16 S recursive forms of its children put in
17 S their accelerations put in
18 S their speeds put in
19 S its equation in recursive form
20 A recursive inertia
  tips['I'][i] == I[i] + tips['T'][j] @ tips['I'][j] @ S[j].T;
  d_u[j] == -inv(P[j].T @ tips['I'][j] @ P[j]) @ P[j].T @ (tips['I'][j] @ S[j].T @ A_k[i] - tips['F'][j])
  in AB.inertia_beyond: P
  on real
21 A recursive force
  tips['F'][i] == F_k[i] + tips['T'][j] @ tips['F'][j];
  d_u[j] == -inv(P[j].T @ tips['I'][j] @ P[j]) @ P[j].T @ (tips['I'][j] @ S[j].T @ A_k[i] - tips['F'][j])
  in AB.eliminate_joint: z_plus
  on real
22 A triangularisation
  c = eye(6) - tips['I'][j] @ P[j] @ inv(P[j].T @ tips['I'][j] @ P[j]) @ P[j].T;
  S[j] @ c @ (tips['I'][j] @ S[j].T @ A_k[i] - tips['F'][j]) == S[j] @ (tips['I'][j] @ A_k[j] - tips['F'][j])
  in AB.eliminate_joint: W, S
  print k for j
  on real
23 A the phantom does not move against the base
  oV[8] == 0
  in KI.move: V
  on closed
  digits 8
24 A nor has it an acceleration
  oA[8] == -A_t
  in FN.complete_front: second
  on closed
25 S velocities of the closure, its rest apart
26 S the last joint taken out
27 A the last dependent speed
  u_k[8] == -Q[8] @ P[8].T @ (S[8].T @ oV[7] + V_t)
  in LI.reduced: Q
  on closed
28 A its pivot
  Q[8] == inv(P[8].T @ P[8]);
  u_k[8] == -Q[8] @ P[8].T @ (S[8].T @ oV[7] + V_t)
  in LI.reduced: Q
  on closed
29 S what is left of the closure
30 A its projector
  R[8] == eye(6) - P[8] @ Q[8] @ P[8].T;
  max(abs(R[8] @ toS[7].T @ oV[7])) == 0
  in LI.reduced: R
  on closed
31 S the closure at a body
32 S the joint of that body taken out
33 A a dependent speed
  u_k[j] == -Q[j] @ P[j].T @ toS[j] @ R[j + 1] @ (toS[i].T @ oV[i] + V_t)
  in LI.reduced: Q
  on closed dependent
34 A its pivot
  Q[j] @ P[j].T @ toS[j] @ R[j + 1] @ toS[j].T @ P[j] == eye(1);
  d_u[j] == -Q[j] @ P[j].T @ toS[j] @ R[j + 1] @ (toS[i].T @ oA[i] + A_t)
  in LI.reduced: Q
  print a transpose is lost
  on closed dependent
35 S the closure at the body before; it prints (31) again
36 A projectors from body to body; they are symmetric, and their own squares
  R[j] == R[j + 1] @ (eye(6) - toS[j].T @ P[j] @ Q[j] @ P[j].T @ toS[j] @ R[j + 1]);
  R[j + 1] == R[j + 1].T == R[j + 1] @ R[j + 1];
  R[j + 1] @ toS[j].T @ oA[j] == -R[j + 1] @ A_t
  in LI.reduced: R
  print a transpose is lost
  on closed dependent
  digits 8
37 S velocities along a chain again
38 A velocity of a dependent body from the body before
  oV[j] == W[j] @ oV[i] + X[j] @ V_t
  in LI.reduced: W, X
  print a hat on V_t
  on closed dependent
39 A what carries it
  W[j] == S[j].T + X[j] @ toS[i].T;
  oV[j] == W[j] @ oV[i] + X[j] @ V_t
  in LI.reduced: W
  on closed dependent
40 A what the closure adds
  X[j] == -P[j] @ Q[j] @ P[j].T @ toS[j] @ R[j + 1];
  oA[j] == W[j] @ oA[i] + X[j] @ A_t
  in LI.reduced: X
  on closed dependent
41 A velocity of a dependent body from the last independent one
  oV[j] == Y[j] @ oV[2] + Z[j] @ V_t
  in LI.reduced: Y, Z
  on closed dependent
42 A what carries it
  Y[j] == W[j] @ Y[i];
  oV[j] == Y[j] @ oV[2] + Z[j] @ V_t
  in LI.reduced: Y
  on closed dependent
43 A what the closure adds
  Z[j] == X[j] + W[j] @ Z[i];
  oA[j] == Y[j] @ oA[2] + Z[j] @ A_t
  in LI.reduced: Z
  on closed dependent
44 A at the last independent body itself
  Y[2] == eye(6);
  Z[2] == 0
  in LI.reduced: Y, Z
  on closed
45 A acceleration of a dependent body
  oA[j] == Y[j] @ oA[2] + Z[j] @ A_t
  in FN.recover: values
  on closed dependent
46 A Kane's equations of the loop
  max(abs(E.T @ (Mt @ by_reduction + bias - tau_all))) == 0
  in LR.motion_basis: choice
  on closed
47 A accelerations by way of the base
  A_k[j] == oS[j].T @ A_k[0] + oA[j]
  in FN.recover_node: alpha
  on closed real
48 A velocities by way of the base
  V_k[j] == oS[j].T @ V_k[0] + oV[j]
  in KI.move: V
  on closed loop
49 S equations of the loop; 0A^k is meant
50 A partial velocities under the closure: own, carried by Y, or zero
  oV[j] == Y[j] @ (lever_of(r_k[2] - r_k[1]) @ P[1] @ u_k[1] + P[2] @ u_k[2])
  in LI.reduced: Y
  print a speed at or before the base moves bodies by (0S^k)^T P
  on closed dependent
51 S the same put in
52 S gathered at the last independent body; 0A^k is meant
53 A its coupling with the base, dependent bodies folded in
  folded[0] == total(Y[k].T @ I[k] @ oS[k].T for k in beyond);
  P[2].T @ (folded[0] @ A_k[0] + folded[1] @ oA[2] - folded[2]) == 0
  in LI._fold: folded
  on closed
54 A its inertia, dependent bodies folded in
  folded[1] == total(Y[k].T @ I[k] @ Y[k] for k in beyond);
  P[2].T @ (folded[0] @ A_k[0] + folded[1] @ oA[2] - folded[2]) == 0
  in LI._fold: folded
  on closed
55 A its force, dependent bodies folded in
  folded[2] == total(Y[k].T @ (F_k[k] - I[k] @ Z[k] @ A_t) for k in beyond);
  P[2].T @ (folded[0] @ A_k[0] + folded[1] @ oA[2] - folded[2]) == 0
  in LI._fold: folded
  on closed
56 S an equation with shifts; section 2.4 is meant
57 S the form with two terms that is assumed
58 A recursion begins at the last independent body
  I0[2] == folded[0];
  Ij[2] == folded[1];
  Fj[2] == folded[2];
  d_u_all == literal['loop']
  in FN.merged: fronts
  on closed
59 A derivative of an independent speed
  d_u_found[j] == -inv(P[j].T @ Ij[j] @ P[j]) @ P[j].T @ (I0[j] @ A_k[0] + Ij[j] @ S[j].T @ oA[i] - Fj[j])
  in FN.recover: values
  print the force of the last independent body for that of body j
  on closed independent
60 A coupling with the base, from body to body
  I0[1] == I[1] @ oS[1].T + Tj[2] @ I0[2];
  d_u_all == literal['loop']
  in FN.eliminated: front
  on closed
61 A inertia, from body to body
  Ij[1] == I[1] + Tj[2] @ Ij[2] @ S[2].T;
  d_u_all == literal['loop']
  in FN.eliminated: front
  print a hat on the first term
  on closed
62 A force, from body to body
  Fj[1] == F_k[1] + Tj[2] @ Fj[2];
  d_u_all == literal['loop']
  in FN.eliminated: front
  print a hat on the first term
  on closed
63 A triangularisation in the loop
  Tj[j] == S[j] @ (eye(6) - Ij[j] @ P[j] @ inv(P[j].T @ Ij[j] @ P[j]) @ P[j].T);
  d_u_all == literal['loop']
  in LI.LoopReduction.T: P, I
  on closed independent
64 A pivots in the loop
  (P[j].T @ Ij[j] @ P[j]) @ d_u_found[j] == -P[j].T @ (I0[j] @ A_k[0] + Ij[j] @ S[j].T @ oA[i] - Fj[j])
  in FN.with_speeds: front
  on closed independent
65 A arbitrary selection: the closure with independent speeds beyond a body
  max(abs(R_a[4] @ (toS[3].T @ oV[3] + V_t + toS[5].T @ P[5] @ u_k[5]))) == 0
  in LI.reduced: R
  print speeds' derivatives for speeds; the shifts are to the phantom
  on closed
66 A projectors change at dependent joints only
  R_a[5] == R_a[6];
  R_a[6] == R_a[7] @ (eye(6) - toS[6].T @ P[6] @ Q_a[6] @ P[6].T @ toS[6] @ R_a[7])
  in LI.reduced: R
  on closed
67 A derivative of a dependent speed with independent ones beyond
  d_u[3] == -Q_a[3] @ P[3].T @ toS[3] @ R_a[4] @ (toS[2].T @ oA[2] + A_t + toS[5].T @ P[5] @ d_u[5])
  in LI.reduced: Q
  print the shift of the first term is from D - 1
  on closed
68 S velocity of a dependent body
69 A the same with W and X
  oV[3] == W_a[3] @ oV[2] + X_a[3] @ (V_t + toS[5].T @ P[5] @ u_k[5])
  in LI.reduced: W, X
  on closed
70 S velocity of an independent body
71 S the same in that form
72 A both in one form
  oV[j] == W_a[j] @ oV[i] + X_a[j] @ V_t + G_a[j] @ K_a @ u_k[5]
  in LI.reduced: G
  on closed beyond
73 A columns of independent speeds beyond
  G_a[5] == eye(6);
  G_a[3] == X_a[3] @ toS[5].T;
  oV[j] == W_a[j] @ oV[i] + X_a[j] @ V_t + G_a[j] @ K_a @ u_k[5]
  in LI.reduced: G
  print begin at the nearest independent descendant; there are n_I columns
  on closed beyond
74 D partial velocities of these speeds, along a diagonal
75 D these speeds as a column
76 A what carries velocities, by the kind of joint
  W_a[5] == S[5].T;
  W_a[3] == S[3].T + X_a[3] @ toS[2].T;
  oA[j] == W_a[j] @ oA[i] + X_a[j] @ A_t + G_a[j] @ K_a @ d_u[5]
  in LI.reduced: W
  on closed beyond
77 A what the closure adds, by the kind of joint
  X_a[5] == 0;
  X_a[3] == -P[3] @ Q_a[3] @ P[3].T @ toS[3] @ R_a[4];
  oA[j] == W_a[j] @ oA[i] + X_a[j] @ A_t + G_a[j] @ K_a @ d_u[5]
  in LI.reduced: X
  on closed beyond
78 A velocities from the last independent body and the speeds beyond
  oV[j] == Y_a[j] @ oV[1] + Z_a[j] @ V_t + H_a[j] @ K_a @ u_k[5]
  in LI.reduced: H
  on closed beyond
79 A what carries them
  Y_a[j] == W_a[j] @ Y_a[i];
  oA[j] == Y_a[j] @ oA[1] + Z_a[j] @ A_t + H_a[j] @ K_a @ d_u[5]
  in LI.reduced: Y
  on closed beyond
80 A what the closure adds
  Z_a[j] == X_a[j] + W_a[j] @ Z_a[i];
  oA[j] == Y_a[j] @ oA[1] + Z_a[j] @ A_t + H_a[j] @ K_a @ d_u[5]
  in LI.reduced: Z
  on closed beyond
81 A what the speeds beyond add
  H_a[j] == G_a[j] + W_a[j] @ H_a[i];
  H_a[1] == 0;
  oA[j] == Y_a[j] @ oA[1] + Z_a[j] @ A_t + H_a[j] @ K_a @ d_u[5]
  in LI.reduced: H
  print it starts from 0
  on closed beyond
82 S equations of the speeds beyond
83 S accelerations put in
84 A their partial velocities
  total((H_a[k] @ K_a).T @ (I[k] @ A_k[k] - F_k[k]) for k in beyond_a) == 0;
  max(abs(E.T @ (Mt @ by_reduction + bias - tau_all))) == 0
  in LR.motion_basis: choice
  on closed
85 S velocities put in; K u' is meant
86 S gathered; u' is meant
87 A inertia with the shift to the base
  I_M_a[0] == total(H_a[k].T @ (I[k] @ oS[k].T) for k in beyond_a);
  d_u_all == literal['loop_a']
  in LI._fold: to_base, I
  on closed
88 A inertia with Y
  I_M_a[1] == total(H_a[k].T @ (I[k] @ Y_a[k]) for k in beyond_a);
  d_u_all == literal['loop_a']
  in LI._fold: Y, I
  on closed
89 A force without what the closure's rest takes
  I_M_a[2] == total(H_a[k].T @ (F_k[k] - I[k] @ Z_a[k] @ A_t) for k in beyond_a);
  d_u_all == literal['loop_a']
  in LI._fold: F
  on closed
90 A inertia with H
  M_M_a == K_a.T @ total(H_a[k].T @ (I[k] @ H_a[k]) for k in beyond_a) @ K_a;
  d_u_all == literal['loop_a']
  in LI._fold: H, I
  on closed
91 S gathered once more
92 A sums with the shift to the base
  I_M_a[0] == total(H_a[k].T @ I[k] @ oS[k].T for k in beyond_a);
  M_M_a @ d_u[5] == -K_a.T @ (I_M_a[0] @ A_k[0] + I_M_a[1] @ oA[1] - I_M_a[2])
  in FN.eliminated: front
  on closed
93 A sums with Y
  I_M_a[1] == total(H_a[k].T @ I[k] @ Y_a[k] for k in beyond_a);
  M_M_a @ d_u[5] == -K_a.T @ (I_M_a[0] @ A_k[0] + I_M_a[1] @ oA[1] - I_M_a[2])
  in FN.eliminated: front
  on closed
94 A sums of forces
  I_M_a[2] == total(H_a[k].T @ (F_k[k] - I[k] @ Z_a[k] @ A_t) for k in beyond_a);
  M_M_a @ d_u[5] == -K_a.T @ (I_M_a[0] @ A_k[0] + I_M_a[1] @ oA[1] - I_M_a[2])
  in FN.eliminated: front
  on closed
95 A sums with H
  M_M_a == K_a.T @ total(H_a[k].T @ I[k] @ H_a[k] for k in beyond_a) @ K_a;
  M_M_a @ d_u[5] == -K_a.T @ (I_M_a[0] @ A_k[0] + I_M_a[1] @ oA[1] - I_M_a[2])
  in FN.eliminated: front
  on closed
96 S one equation of these; u' is meant
97 A a row of the small mass matrix
  M_M_a == P[5].T @ total(H_a[k].T @ I[k] @ H_a[k] for k in beyond_a) @ K_a;
  d_u_all == literal['loop_a']
  in LI._fold: M_M
  print u and u' are mixed
  on closed
98 S all rows; u' is meant
99 A derivatives of the speeds beyond
  d_u_found[5] == -inv(M_M_a) @ K_a.T @ (I_M_a[0] @ A_k[0] + I_M_a[1] @ oA[1] - I_M_a[2])
  in FN.recover: values
  print u for u'
  on closed
100 A coupling with the base, the speeds beyond eliminated
  I0_a[1] == folded_a[0] - total(Y_a[k].T @ I[k] @ H_a[k] for k in beyond_a) @ K_a @ inv(M_M_a) @ K_a.T @ I_M_a[0];
  d_u_all == literal['loop_a']
  in LI._fold: on_p
  print the first term is the sum (53)
  on closed
101 A inertia, the speeds beyond eliminated
  Ij_a[1] == folded_a[1] - total(Y_a[k].T @ I[k] @ H_a[k] for k in beyond_a) @ K_a @ inv(M_M_a) @ K_a.T @ I_M_a[1];
  d_u_all == literal['loop_a']
  in LI._fold: on_p
  print the first term is the sum (54)
  on closed
102 A force, the speeds beyond eliminated
  Fj_a[1] == folded_a[2] - total(Y_a[k].T @ I[k] @ H_a[k] for k in beyond_a) @ K_a @ inv(M_M_a) @ K_a.T @ I_M_a[2];
  d_u_all == literal['loop_a']
  in LI._fold: on_p
  print the first term is the sum (55)
  on closed
103 A coupled loops: accelerations by way of the base of the one
  two['A'][5] == two['iS'][5].T @ two['A'][0] + two['iA'][5]
  in FN.recover_node: alpha
104 A or of the other
  two['A'][5] == two['jS'][5].T @ two['A'][1] + two['jA'][5]
  in FN.recover_node: alpha
105 A the other base as the first one sees it
  two['A'][1] == two['iS'][1].T @ two['A'][0] + two['iA'][1]
  in FN.recover_node: alpha
106 A a body as the first base sees it, by way of the other
  two['iA'][5] == two['jS'][5].T @ two['iA'][1] + two['jA'][5]
  in FN.recover_node: alpha
  print the two bases stand the other way round
107 A accelerations in three terms
  two['A'][5] == two['iS'][5].T @ two['A'][0] + two['jS'][5].T @ two['iA'][1] + two['jA'][5]
  in FN.recover_node: alpha
  print the two bases stand the other way round
108 S equation of the body at which the loops part
109 S its own body taken out
110 S both loops put in; the shift counts once
111 A its equation with three terms
  c = two['iS'][3].T;
  e = two['jS'][3].T;
  b = two['I'] @ c + two['a_i'] + two['a_j'] @ two['iS'][1].T;
  left = b @ two['A'][0] + ((two['I'] + two['b_i']) @ e + two['a_j']) @ two['iA'][1];
  left = left + (two['I'] + two['b_i'] + two['b_j']) @ two['jA'][3] - two['F'] - two['c_i'] - two['c_j'];
  two['P'].T @ left == 0;
  two['d_u'] == two['d_u_found']
  in CR._close: front
"""
"""The rows, as `equation.rows` reads them."""
