"""Commands on states: kinematics, dynamics, equilibria and small motions.

In: scenes, files of states. Out: tables and files of results. Never here: the algorithms.

    mechanics         what the commands on states share: their options, and the way from states to results
    results_text      how results leave the command line: tables for people, JSON documents
    fk                `simcli fk`: joint coordinates to poses of bodies
    ik                `simcli ik`: poses of bodies to joint coordinates
    inverse_dynamics  `simcli id`: inverse dynamics
    mass_matrix       `simcli mass-matrix`: the joint-space mass matrix
    jacobian          `simcli jacobian`: body Jacobians
    statics           what equilibrium and modes share: their options, the study of a scene, an equilibrium in words
    equilibrium       `simcli equilibrium`: the static equilibrium of a scene
    modes             `simcli modes`: natural frequencies, damping ratios and mode shapes
"""
