"""The equations of Jain's paper, as text; `jain_equations` has their letters."""

__all__ = ["PLACES", "ROWS"]

PLACES = {
    "AB": "formulations.recursions.articulated_body",
    "CB": "formulations.recursions.composite_body",
    "KI": "formulations.recursions.kinematics",
    "ND": "formulations.nodes.node.Node",
    "NI": "formulations.nodes.node_interface",
    "TM": "system.text_matrices",
    "TA": "formulations.methods.tree_augmented",
    "CE": "formulations.methods.constraint_embedding",
    "CS": "formulations.closures.closure_set",
    "AG": "formulations.closures.aggregates",
    "SC": "formulations.closures.schur_complement",
    "PT": "formulations.closures.partition",
    "FB": "elements.bodies.flexible",
    "MI": "elements.bodies.modal_inertia",
    "MR": "flexible_bodies.modal_reduction",
    "LI": "analysis.literal.jain_flexible",
}
"""Short names of modules below `whippletree`."""

ROWS = """
1 A force between bodies from articulated quantities
  z = psi @ (K @ tau_all + P @ a + b);
  f == P @ (alpha - a) + z
  in ND.recover: f, alpha
  print signs and the bias of P are lost
2 A Newton and Euler: velocities and accelerations outward, forces inward
  V == phi.T @ H.T @ d_theta;
  alpha == phi.T @ (H.T @ dd_theta + a);
  f == phi @ (M @ alpha + b);
  tau_all == H @ f
  in AB.locate: node
3 A the same with operators: mass matrix and Coriolis forces
  Mt == H @ phi @ M @ phi.T @ H.T;
  C == H @ phi @ (M @ phi.T @ a + b)
  in CB.mass_matrix: compose
  print a star is lost
4 D all shifts, the inverse of 1 - E
5 D shifts between neighbours
6 D shifts beyond the body itself
7 A articulated inertia, hinge inertia and gain, from tips to base
  D == H @ P @ H.T;
  G == P @ H.T @ inv(D);
  P == E @ (eye(n) - G @ H) @ P @ E.T + M
  in AB.eliminate_joint: P, P_plus
8 D articulated inertias along a diagonal
9 D D, G, K, tau, P+ and psi as operators; the last line is about psi less 1
10 A mass matrix and its inverse, factored
  Mt == (eye(len(D)) + H @ phi @ K) @ D @ (eye(len(D)) + H @ phi @ K).T;
  inv(Mt) == (eye(len(D)) - H @ psi @ K).T @ inv(D) @ (eye(len(D)) - H @ psi @ K)
  in TM._jain: K, psi
11 A accelerations by the factored inverse
  by_articulated == (eye(len(D)) - H @ psi @ K).T @ inv(D) @ (eye(len(D)) - H @ psi @ K) @ (tau_all - C)
  in AB.forward_dynamics: sweep
12 A residuals and innovations by operators
  z = psi @ (K @ tau_all + P @ a + b);
  alpha == psi.T @ (H.T @ inv(D) @ (tau_all - H @ z) + a);
  by_articulated == dd_theta
  in AB.sweep: outcome
  print z+ without G
13 A the same from body to body
  z = psi @ (K @ tau_all + P @ a + b);
  nu = inv(D) @ (tau_all - H @ z);
  z == E @ (z + G @ D @ nu) + P @ a + b;
  by_articulated == nu - G.T @ E.T @ alpha;
  alpha == (eye(n) - G @ H).T @ E.T @ alpha + H.T @ nu + a
  in AB.find_acceleration: alpha, y
  print indices of alpha and the gain
14 A forces before and behind a hinge
  z = psi @ (K @ tau_all + P @ a + b);
  f == P @ (alpha - a) + z == (eye(n) - G @ H) @ P @ E.T @ alpha + z + G @ (tau_all - H @ z)
  in AB.reactions: sweep
15 S an identity of phi M psi*; the next line has P psi*
16 A acceleration behind a hinge
  z = psi @ (K @ tau_all + P @ a + b);
  alpha == (eye(n) - G @ H).T @ E.T @ alpha + H.T @ inv(D) @ (tau_all - H @ z) + a;
  by_articulated == dd_theta
  in NI.HingeFactors.unknowns: alpha
17 S the second form of (14)
18 A the same for prescribed hinges, and what they need
  T_h[j] == dot(H_m[j], f_O[j])
  in AB.driving_forces: sweep
  on links
19 A a node moves by a sum of modes
  pose_out[j][:3, 3] == pose[j][:3, 3] + pose[j][:3, :3] @ (x_out[j] + moved_out[j] @ eta[j])
  in FB.FlexibleBody._place: phi
  on links
20 A modes of a cantilever leave its root alone
  cantilever == 0
  in MR.reduced_basis: choice
21 A the same by the node's modal matrix
  V_out[j] == phi_of(pose_out[j][:3, 3] - pose[j][:3, 3]).T @ V_k[j] + A_out[j][:3].T @ d_eta[j]
  in FB.FlexibleBody.frame_map: place
  on links
22 D deformation of all nodes
23 D coordinates of a body: those of modes and of its hinge
24 S velocities from body to body
25 D the joint map with its modal and its rigid part
26 A a body is two: one behind the hinge, and one that deforms before it
  V_O[j] == V_out[i] + d_hinge[j] * H_m[j]
  in KI.move: V
  on links
27 A velocity of the deforming body
  V_k[j] == phi_of(pose[j][:3, 3] - pose_O[j][:3, 3]).T @ (V_O[j] - Pi_O[j] @ d_eta[j])
  in KI.move: V
  on links
28 A its acceleration
  alpha_O[j] == phi_of(pose_O[j][:3, 3] - pose[j][:3, 3]).T @ alpha_k[j] + Pi_O[j] @ dd_eta[j] + a_of_O[j]
  in KI.accelerate: alpha
  print eta' for eta''
  on links
29 A acceleration of the node that carries the next body
  alpha_out[j] == A_out[j].T @ stack(dd_eta[j], alpha_k[j]) + a_of_out[j]
  in FB.FlexibleBody.frame_bias: place
  on links
30 A what velocities alone give
  way = pose_out[j][:3, 3] - pose[j][:3, 3];
  w = V_k[j][:3];
  turning = A_out[j][:3].T[:3] @ d_eta[j];
  moving = A_out[j][:3].T[3:] @ d_eta[j];
  alpha_out[j] - A_out[j].T @ stack(dd_eta[j], alpha_k[j])
    == stack(cross(w, turning), cross(w, cross(w, way)) + 2 * cross(w, moving))
  in ND.carry: alpha
  on links
31 A balance of a deforming body: its modes, its hinge
  c = M_fl[j] @ stack(dd_eta[j], alpha_k[j]) + b_fl[j];
  e = c + A_out[j] @ (f_beyond[j]);
  T_m[j] == e[:3] - Pi_B[j].T @ e[3:];
  f_O[j] == phi_of(pose[j][:3, 3] - pose_O[j][:3, 3]) @ e[3:]
  in AB.reactions: sweep
  print stiffness on all coordinates; the third form has the force of k'
  on links
32 A modes eliminated
  mu = P_m[j][3:, :3] - P_m[j][3:, 3:] @ Pi_B[j];
  d = P_m[j][:3, :3] - P_m[j][:3, 3:] @ Pi_B[j] - Pi_B[j].T @ mu;
  back = phi_of(pose[j][:3, 3] - pose_O[j][:3, 3]);
  f_O[j] == back @ ((P_m[j][3:, 3:] - mu @ inv(d) @ mu.T) @ back.T @ alpha_O[j] + z_cr[j])
  in ND._shared_terms: U
  print the full inertia of a flexible body, M_fl, stands for 1 and M; P+ is carried by phi(O+, O)
  on links
33 A inertia of the body behind the hinge; a prescribed one passes it on
  back = phi_of(pose[j][:3, 3] - pose_O[j][:3, 3]);
  f_O[j] == back @ P_cr[j] @ back.T @ (alpha_O[j] - a_fl[j]) + z_hinge[j]
  in AB.eliminate_joint: P, a
  on links
34 A bias forces of modes
  nu_m[j] == inv(D_m[j]) @ (T_m[j] - z_m[j][:3] + Pi_B[j].T @ z_m[j][3:]);
  back = phi_of(pose[j][:3, 3] - pose_O[j][:3, 3]);
  f_O[j] == back @ (P_cr[j] @ back.T @ alpha_O[j] + z_m[j][3:] + G_cr[j] @ D_m[j] @ nu_m[j])
  in ND._shared_terms: eps
  print stiffness on all coordinates
  on links
35 A bias force of the body behind the hinge
  back = phi_of(pose[j][:3, 3] - pose_O[j][:3, 3]);
  f_O[j] == P_hinge[j] @ (alpha_O[j] - a_fl[j]) + back @ z_cr[j] + P_hinge[j] @ a_fl[j]
  in AB.eliminate_joint: z, a
  on links
36 A acceleration of the parent, carried to the hinge
  alpha_O[j] - a_fl[j] == alpha_out[i] + free[j] * dd_hinge[j] * H_m[j]
  in AB.find_acceleration: split
  on links
37 A the same written out
  alpha_out[j] == A_out[j].T @ stack(dd_eta[j], alpha_k[j]) + a_of_out[j]
  in KI.accelerate: alpha
  print 1 added to alpha instead of to k
  on links
38 A hinge: acceleration where it is free, effort where it is prescribed
  dd_hinge[j] == free[j] * (nu_all[j] - dot(gain_all[j], alpha_out[i])) + (1 - free[j]) * dd_hinge[j];
  T_h[j] == dot(H_m[j], f_O[j])
  in ND.recover: y
  on links
39 A acceleration behind the hinge
  alpha_O[j] == alpha_out[i] + free[j] * dd_hinge[j] * H_m[j] + a_fl[j]
  in ND.recover: alpha
  print the last term is the bias, which has a prescribed hinge's acceleration in it already
  on links
40 A accelerations of modes, then of the frame
  back = phi_of(pose[j][:3, 3] - pose_O[j][:3, 3]);
  dd_eta[j] == nu_m[j] - G_cr[j].T @ back.T @ alpha_O[j];
  alpha_k[j] == back.T @ alpha_O[j] - Pi_B[j] @ dd_eta[j] + a_m[j]
  in ND._recover_shared: alpha
  on links
41 A forces behind and before the hinge
  f_O[j] == P_hinge[j] @ (alpha_O[j] - a_fl[j]) + z_hinge[j]
  in ND.recover: f
  print z of the deforming body for that behind the hinge
  on links
42 A loops on velocities
  J @ d_theta == 0
  in CS.ClosureSet._closure_state: rate
  on closed
  digits 8
43 A a tree with multipliers
  Mt @ by_tree + C - J.T @ lam == tau_all
  in TA.solve: a_free
  on closed
44 S both together, which nobody solves as it stands
45 A free accelerations and what the loops correct
  by_tree == by_articulated_of_tree + inv(Mt) @ J.T @ lam
  in TA.solve: a_free
  on closed
46a A free accelerations
  by_articulated_of_tree == inv(Mt) @ (tau_all - C)
  in AB.sweep: outcome
  on closed
46b A multipliers by the Schur complement
  lam == -inv(J @ inv(Mt) @ J.T) @ (J @ inv(Mt) @ (tau_all - C) + rate(J) @ d_theta)
  in SC.schur_complement: effects
  on closed
46c A corrections
  by_tree - by_articulated_of_tree == inv(Mt) @ J.T @ lam
  in SC.correction: effects
  on closed
47 D all bodies, those of a loop apart
48 D shifts in that order
49 D what joins the loop to its parent and its child; it holds the last shift already
50 A velocity of the loop's child
  V_g == B_S.T @ V_S + H_g.T @ d_theta_g
  in KI.move: V
  print the last shift is there twice
  on closed
51 D shifts within the loop
52 A velocities of the loop from its base
  V_S == phi_S.T @ (E_S.T @ V_a + H_S.T @ d_theta_S)
  in KI.move: V
  on closed
53 A independent velocities
  d_theta_S == X @ d_theta_R
  in CE._embedded: X
  print conditions that move have a term more
  on closed
  digits 8
54 A joint map of what is independent
  V_S == phi_S.T @ (E_S.T @ V_a + (X.T @ H_S).T @ d_theta_R)
  in AG.Embedded.locate: X
  on closed
  digits 8
55 A velocities by independent rates
  V_S == phi_S.T @ E_S.T @ V_a + phi_S.T @ H_S.T @ X @ d_theta_R
  in AG.Embedded.locate: H
  on closed
  digits 8
56 A joint map of the loop as one body
  Hb = X.T @ H_S @ phi_S;
  V_S - phi_S.T @ E_S.T @ V_a == Hb.T @ d_theta_R
  in AG.Embedded.locate: H
  on closed
  digits 8
57 S accelerations of the loop
58 A accelerations from independent ones
  embedded_S == X @ dd_theta_R + rate(X) @ d_theta_R
  in AG.Embedded.recover: X
  print the time's part is missing
  on closed
  digits 8
59 A accelerations of the loop as one body
  Hb = X.T @ H_S @ phi_S;
  alpha_S == phi_S.T @ E_S.T @ alpha_a + Hb.T @ dd_theta_R + phi_S.T @ (a_S + H_S.T @ rate(X) @ d_theta_R)
  in AG.Embedded.locate: a
  print H theta''_R
  on closed
  digits 8
60 A what velocities alone give
  c = a_S + H_S.T @ rate(X) @ d_theta_R;
  alpha_S == phi_S.T @ (E_S.T @ alpha_a + H_S.T @ X @ dd_theta_R + c)
  in CE._embedded: g
  on closed
  digits 8
61 A forces of the loop's bodies, and its independent efforts
  c = B_S @ f_g + M_S @ alpha_S + b_S;
  X.T @ T_S == X.T @ H_S @ phi_S @ c
  in AG.Embedded.gathered: f
  print the last shift is there twice
  on closed
  digits 8
62 A articulated inertia over a loop
  Gg = M_g @ H_g.T @ inv(H_g @ M_g @ H_g.T);
  PS = B_S @ (M_g - Gg @ H_g @ M_g) @ B_S.T + M_S;
  c = a_S + H_S.T @ rate(X) @ d_theta_R;
  zg = M_g @ a_g + b_g;
  zS = B_S @ (zg + Gg @ (T_g - H_g @ zg)) + b_S + PS @ phi_S.T @ c;
  Hb = X.T @ H_S @ phi_S;
  Hb @ PS @ Hb.T @ dd_theta_R == X.T @ T_S - Hb @ (zS + PS @ phi_S.T @ E_S.T @ alpha_a);
  by_embedding == dd_theta
  in AG.Embedded.terms: P
  print the last shift is there twice
  on closed
  digits 8
63 A inertia of independent freedoms, composite
  X.T @ H_S @ phi_S @ M_S @ phi_S.T @ H_S.T @ X == X.T @ Mt_S @ X;
  by_embedding == dd_theta
  in AG.Embedded._from_columns: X
  on closed
64 A bias force and residual of the loop
  Gg = M_g @ H_g.T @ inv(H_g @ M_g @ H_g.T);
  PS = B_S @ (M_g - Gg @ H_g @ M_g) @ B_S.T + M_S;
  zg = M_g @ a_g + b_g;
  zS = B_S @ (zg + Gg @ (T_g - H_g @ zg)) + b_S + PS @ phi_S.T @ (a_S + H_S.T @ rate(X) @ d_theta_R);
  Hb = X.T @ H_S @ phi_S;
  X.T @ T_S - Hb @ zS == Hb @ PS @ (Hb.T @ dd_theta_R + phi_S.T @ E_S.T @ alpha_a);
  by_embedding == dd_theta
  in AG.Embedded.terms: eps
  print the bias is carried by phi_S*; T_S is multiplied by X*
  on closed
  digits 8
65 A what the loop's base feels
  f_a == E_S @ phi_S @ (B_S @ f_g + M_S @ alpha_S + b_S) + M_a @ alpha_a + b_a
  in AB.eliminate_joint: shift
  on closed
66 A accelerations of the loop
  Gg = M_g @ H_g.T @ inv(H_g @ M_g @ H_g.T);
  PS = B_S @ (M_g - Gg @ H_g @ M_g) @ B_S.T + M_S;
  c = phi_S.T @ (a_S + H_S.T @ rate(X) @ d_theta_R);
  zg = M_g @ a_g + b_g;
  zS = B_S @ (zg + Gg @ (T_g - H_g @ zg)) + b_S + PS @ c;
  Hb = X.T @ H_S @ phi_S;
  GS = PS @ Hb.T @ inv(Hb @ PS @ Hb.T);
  nu = inv(Hb @ PS @ Hb.T) @ (X.T @ T_S - Hb @ zS);
  dd_theta_R == nu - GS.T @ phi_S.T @ E_S.T @ alpha_a;
  alpha_S == phi_S.T @ E_S.T @ alpha_a + Hb.T @ dd_theta_R + c;
  embedded_S == dd_theta_S
  in AG.Embedded.recover: X
  print the bias is carried by phi_S*
  on closed
  digits 8
67 A accelerations of the loop's child
  alpha_g == B_S.T @ alpha_S + H_g.T @ dd_theta_g + a_g;
  by_embedding == dd_theta
  in AB.find_acceleration: alpha
  print body i - 1 for j - 1
  on closed
68 A force of the loop as one body
  Gg = M_g @ H_g.T @ inv(H_g @ M_g @ H_g.T);
  PS = B_S @ (M_g - Gg @ H_g @ M_g) @ B_S.T + M_S;
  c = phi_S.T @ (a_S + H_S.T @ rate(X) @ d_theta_R);
  zg = M_g @ a_g + b_g;
  zS = B_S @ (zg + Gg @ (T_g - H_g @ zg)) + b_S + PS @ c;
  PS @ (alpha_S - c) + zS == B_S @ f_g + M_S @ alpha_S + b_S
  in AG.Embedded.gathered: f
  print the bias is carried by phi_S*
  on closed
  digits 8
69 A forces between the bodies of the loop
  f_S == phi_S @ (B_S @ f_g + M_S @ alpha_S + b_S - J_c.T @ lam)
  in CE._forces: multipliers
  print the closures' forces are missing
  on closed
"""
"""The rows, as `equation.rows` reads them."""
