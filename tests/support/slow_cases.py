"""Tests that are slow as their marks would say, by file: each costs 2 s or more of a run, and others tell a break, too.

These are another solver, integrator or case of the same function, the same mechanism in another file, or a scene of the
gallery. They were chosen by what tests cost (costs.py), so that a run without slow tests takes a quarter of an hour on two
cores.
"""

SLOW_CASES = {
    "test_affine_agrees": (
        "test_energy_is_accounted_for_but_for_what_the_formula_takes",
        "test_small_steps_give_the_motion_of_generalized_coordinates",
        "test_soft_becomes_hard_as_one_over_the_stiffness",
    ),
    "test_affine_machines": (
        "test_gears_turn_together_and_share_the_load[bdf2]",
        "test_motions_are_followed_to_the_tolerance_and_tell_their_effort[bdf2]",
    ),
    "test_affine_quasi_static": (
        "test_creep_is_the_closed_form",
        "test_the_ledger_knows_what_is_taken",
    ),
    "test_affine_start": (
        "test_frame_0_is_that_of_the_other_solvers[generalized]",
    ),
    "test_affine_steps": (
        "test_driven_hinge_follows_its_aim_within_the_static_error",
        "test_free_bodies_take_the_steps_of_the_formula[bdf2]",
    ),
    "test_affine_stretch": (
        "test_a_body_that_spins_is_stretched_as_its_stiffness_says",
        "test_a_glb_has_scales_where_they_tell_it",
    ),
    "test_affine_thin": (
        "test_thin_bodies_turn_in_a_few_iterations_as_the_formula_says",
    ),
    "test_articulation_view_edges": (
        "test_a_recorded_frame_is_a_state",
    ),
    "test_ball_limits": (
        "test_steps_of_first_order_converge[generalized-semi_implicit-False]",
        "test_steps_of_higher_order_are_near[generalized-rk4]",
    ),
    "test_barrier_runs": (
        "test_cubes_hover_where_the_closed_form_says[bdf2]",
    ),
    "test_benchmarks": (
        "test_peers_come_to_the_same_and_have_a_line_below_ours[rnea-pinocchio]",
        "test_peers_come_to_the_same_and_have_a_line_below_ours[run-mujoco]",
    ),
    "test_body_accelerations": (
        "test_accelerations_are_the_rates_of_velocities[generalized-rk4]",
        "test_accelerations_are_the_rates_of_velocities[maximal-semi_implicit]",
        "test_accelerations_are_the_rates_of_velocities[natural-moreau]",
        "test_accelerations_are_the_rates_of_velocities[natural-zhong06]",
    ),
    "test_body_flags": (
        "test_commands_give_bodies_and_joints_of_one_kind",
    ),
    "test_bushings": (
        "test_dampers_keep_the_order_of_natural_steps[generalized_alpha]",
        "test_dampers_keep_the_order_of_natural_steps[zhong06]",
        "test_files_of_before_have_none",
        "test_frequencies_are_those_of_the_six_axes",
        "test_solvers_agree[maximal]",
        "test_solvers_agree[natural]",
    ),
    "test_cables": (
        "test_a_hanging_cable_stretches_by_weight_over_stiffness",
        "test_generalized_alpha_keeps_its_order_and_its_account",
        "test_the_force_is_minus_the_gradient_of_the_energy",
        "test_twist_is_about_the_written_axis_and_bend_across_it",
    ),
    "test_cams": (
        "test_cams_move_as_their_one_coordinate[affine-bdf2]",
        "test_cams_move_as_their_one_coordinate[generalized-rk4]",
        "test_cams_move_as_their_one_coordinate[generalized-semi_implicit]",
        "test_cams_move_as_their_one_coordinate[natural-zhong06]",
        "test_cams_on_loop_joints_and_where_something_could_touch[loop]",
        "test_small_motions_have_the_bend_of_the_cam_in_their_stiffness",
    ),
    "test_cli_diff": (
        "test_long_lists_are_cut_with_a_count",
        "test_other_solvers_and_steps_compare_by_time_and_name[fine-solver.dt]",
        "test_other_solvers_and_steps_compare_by_time_and_name[maximal-solver.type]",
        "test_tolerances_channels_and_worlds_decide_the_exit_code",
    ),
    "test_cli_kinematics": (
        "test_every_world_has_its_own_bodies",
        "test_forces_that_follow_signals_are_those_of_the_time_of_the_state[semi_implicit]",
        "test_id_of_a_run_is_its_efforts[rk4-0.01]",
        "test_unwrapped_angles_follow_the_turns",
        "test_worlds_that_have_ended_give_nothing_and_disturb_nobody",
    ),
    "test_cli_precompile": (
        "test_a_scene_that_is_invalid_stops_no_other",
    ),
    "test_cli_render": (
        "test_bodies_are_where_their_poses_say[0.0-0]",
    ),
    "test_cli_rerun": (
        "test_a_run_of_the_scene_inside_has_the_same_bytes[a]",
        "test_a_run_of_the_scene_inside_has_the_same_bytes[two]",
        "test_more_options_change_the_scene_inside",
    ),
    "test_cli_run": (
        "test_default_output_and_a_readable_end",
        "test_doctor_runs_a_scene",
        "test_finished_output_is_kept_unless_forced",
        "test_info_of_a_run_names_command_and_parameters",
        "test_no_terminal_no_escape_codes",
        "test_one_world_of_a_batch_gives_the_same_bytes",
        "test_options_reach_the_scene",
        "test_second_signal_ends_at_once_and_the_file_opens",
    ),
    "test_cli_samples": (
        "test_a_table_of_the_samples_makes_the_same_worlds[csv]",
        "test_a_table_of_the_samples_makes_the_same_worlds[parquet]",
        "test_an_earlier_run_gives_its_measures",
        "test_what_a_new_option_replaces_in_a_run",
    ),
    "test_cli_search": (
        "test_faults_of_fit[words10-2-changes none of the columns]",
        "test_known_numbers_of_a_double_pendulum",
        "test_roots_of_a_measure",
        "test_stiffness_for_five_hertz",
        "test_times_between_steps_in_other_units_and_gaps",
    ),
    "test_cli_statics": (
        "test_what_falls_has_no_equilibrium",
    ),
    "test_cli_sweep_run": (
        "test_a_real_sweep_by_its_events",
        "test_a_signal_ends_a_shard_in_time_and_the_same_command_goes_on[SIGUSR1-75]",
    ),
    "test_compilations": (
        "test_a_device_goes_on_while_nothing_is_new",
        "test_run_tells_what_it_compiled",
    ),
    "test_complementarity": (
        "test_large_worlds_find_the_same",
        "test_solutions_obey_the_laws",
    ),
    "test_contact_compliance": (
        "test_overlaps_at_rest_are_compliance_times_force[generalized]",
        "test_what_steps_lose_is_of_first_order_and_no_dissipation[generalized]",
    ),
    "test_contact_grain": (
        "test_blocks_slide_as_the_ellipse_says[generalized-own-thrown 0, grain 0]",
    ),
    "test_couplings": (
        "test_a_drive_gives_no_more_than_its_limit_and_its_force_is_that_of_the_row[generalized-implicit]",
        "test_a_drive_gives_no_more_than_its_limit_and_its_force_is_that_of_the_row[maximal-semi_implicit]",
        "test_a_drive_gives_no_more_than_its_limit_and_its_force_is_that_of_the_row[natural-zhong06]",
        "test_solvers_agree_on_coordinates_work_and_losses[generalized-implicit-text1]",
        "test_solvers_agree_on_coordinates_work_and_losses[generalized-semi_implicit-text0]",
        "test_solvers_agree_on_coordinates_work_and_losses[generalized-semi_implicit-text4]",
        "test_solvers_agree_on_coordinates_work_and_losses[maximal-semi_implicit-text2]",
        "test_solvers_agree_on_coordinates_work_and_losses[natural-zhong06-text3]",
        "test_two_sliders_swing_against_each_other[generalized-implicit]",
        "test_two_sliders_swing_against_each_other[generalized-rk4]",
        "test_two_sliders_swing_against_each_other[generalized-semi_implicit]",
        "test_two_sliders_swing_against_each_other[maximal-semi_implicit]",
        "test_two_sliders_swing_against_each_other[natural-zhong06]",
    ),
    "test_crossings": (
        "test_an_event_switches_its_values_where_the_next_step_begins[natural-generalized_alpha]",
        "test_gains_of_expressions_are_switched_by_condition[natural-generalized_alpha]",
        "test_what_events_by_condition_switch[a coupling]",
        "test_what_events_by_condition_switch[a torque]",
        "test_what_events_by_condition_switch[a wrench]",
    ),
    "test_diff_causes": (
        "test_events_of_other_worlds_and_later_times_are_left_out",
    ),
    "test_docs_selection": (
        "test_the_selection_of_the_page_s_scene_is_what_it_says",
    ),
    "test_drag": (
        "test_a_damper_of_a_slack_spring_never_pushes[maximal-semi_implicit]",
        "test_all_solvers_agree_and_the_ledger_closes[affine-bdf1]",
        "test_all_solvers_agree_and_the_ledger_closes[affine-bdf2]",
        "test_all_solvers_agree_and_the_ledger_closes[generalized-implicit]",
        "test_all_solvers_agree_and_the_ledger_closes[maximal-semi_implicit]",
        "test_all_solvers_agree_and_the_ledger_closes[natural-generalized_alpha]",
        "test_all_solvers_agree_and_the_ledger_closes[natural-moreau]",
        "test_all_solvers_agree_and_the_ledger_closes[natural-zhong06]",
        "test_drag_with_contact_is_that_of_all_integrators[integrators0]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[affine-bdf1]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[affine-bdf2]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[generalized-implicit]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[generalized-rk4]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[generalized-semi_implicit]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[maximal-semi_implicit]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[natural-generalized_alpha]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[natural-moreau]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[natural-zhong06]",
        "test_generalized_alpha_meets_ropes_with_its_order[20]",
        "test_steps_that_are_implicit_take_drag_that_no_step_resolves[generalized-implicit]",
        "test_steps_that_are_implicit_take_drag_that_no_step_resolves[natural-generalized_alpha]",
        "test_wind_and_drag_in_statics_and_modes",
    ),
    "test_elements": (
        "test_force_is_the_derivative_of_what_is_stored[generalized-implicit]",
        "test_force_is_the_derivative_of_what_is_stored[natural-generalized_alpha]",
        "test_the_start_is_that_of_the_formula[affine-bdf2]",
        "test_the_start_is_that_of_the_formula[generalized-implicit]",
        "test_the_start_is_that_of_the_formula[natural-generalized_alpha]",
        "test_work_is_energy_and_dissipation[generalized-implicit]",
        "test_work_is_energy_and_dissipation[natural-generalized_alpha]",
    ),
    "test_error_estimate": (
        "test_a_failed_world_is_told_and_the_others_have_estimates",
        "test_a_limit_that_may_be_met_forbids_an_estimate_in_its_world_only",
        "test_ctrl_c_keeps_the_run_and_leaves_nothing_else",
        "test_estimate_is_within_a_factor_of_two_of_closed_forms[generalized-rk4]",
        "test_estimate_of_joints_is_within_a_factor_of_two[rk4]",
        "test_the_run_itself_is_the_same_to_the_byte",
    ),
    "test_estimate": (
        "test_file_and_memory_are_as_large_as_was_told[frames]",
    ),
    "test_events": (
        "test_a_ball_falls_through_a_floor_whose_contact_ends[generalized]",
        "test_a_changed_spring_swings_as_in_closed_form[rk4]",
        "test_a_cut_joint_lets_go",
        "test_events_at_the_start_at_once_and_after_the_end",
        "test_laws_can_begin_with_an_event",
    ),
    "test_events_limits": (
        "test_a_limit_set_behind_its_coordinate_ends_the_world[affine]",
    ),
    "test_export": (
        "test_a_run_without_frames_is_a_header",
    ),
    "test_feedback": (
        "test_a_lag_is_the_activation_of_mujoco[exact-filterexact]",
        "test_a_loop_is_the_drive_of_the_same_law_as_steps_shrink[natural-generalized_alpha]",
        "test_a_loop_is_the_map_of_a_force_that_is_held[natural-generalized_alpha]",
        "test_formulas_are_those_of_numpy_in_each_world",
        "test_rate_delay_and_limits_are_a_recurrence",
        "test_signals_see_what_a_frame_of_that_time_shows[generalized-implicit]",
        "test_signals_see_what_a_frame_of_that_time_shows[natural-generalized_alpha]",
    ),
    "test_frames_with_contact": (
        "test_accelerations_and_efforts_are_those_of_free_motion[generalized-implicit]",
        "test_accelerations_and_efforts_are_those_of_free_motion[generalized-semi_implicit]",
        "test_accelerations_and_efforts_are_those_of_free_motion[maximal-semi_implicit]",
    ),
    "test_gallery": (
        "test_a_picture_is_what_its_commands_draw[double_pendulum]",
    ),
    "test_glb": (
        "test_bodies_are_where_the_run_has_them",
        "test_quaternions_are_unit_and_never_jump",
    ),
    "test_gpu_code": (
        "test_code_of_one_world_is_not_taken_for_packs",
        "test_runs_agree_with_the_lane_code[semi_implicit-like_gpu]",
        "test_the_lane_code_is_packed_arithmetic[float32-s]",
        "test_the_lane_code_is_packed_arithmetic[float64-d]",
    ),
    "test_gpu_devices": (
        "test_a_gpu_is_tested_when_it_starts[vulkan]",
        "test_a_run_goes_on_from_its_state[vulkan]",
        "test_bytes_of_a_world_do_not_depend_on_others[vulkan]",
        "test_gpus_run_from_the_command_line[vulkan-float32]",
        "test_integrators_of_a_higher_order_are_those_of_the_cpu[vulkan-rk4]",
        "test_the_double_pendulum_is_that_of_the_cpu[vulkan-float32]",
    ),
    "test_gpu_solvers": (
        "test_kernels_of_one_stage_make_the_bytes_of_one_kernel[natural]",
    ),
    "test_gravity_compensation": (
        "test_falls_and_accelerations_in_every_solver[affine-bdf2]",
        "test_falls_and_accelerations_in_every_solver[generalized-implicit]",
        "test_falls_and_accelerations_in_every_solver[natural-generalized_alpha]",
        "test_falls_and_accelerations_in_every_solver[natural-zhong06]",
    ),
    "test_impacts": (
        "test_a_world_does_not_see_whether_its_neighbours_jump[rk4]",
        "test_after_an_impact_the_error_is_of_first_order[implicit]",
        "test_after_an_impact_the_error_is_of_first_order[rk4]",
        "test_loops_laws_and_contact_agree_with_first_order",
        "test_until_an_impact_no_bit_differs_from_free_motion[rk4]",
    ),
    "test_import_mjcf": (
        "test_sensors_show_what_those_of_mujoco_show",
        "test_the_mechanism_is_that_of_mujoco",
        "test_what_moves_without_limits_moves_as_in_mujoco",
    ),
    "test_import_sdf": (
        "test_the_mechanism_is_that_of_pinocchio",
    ),
    "test_import_urdf": (
        "test_a_model_runs_as_its_scene_does",
    ),
    "test_joints_off": (
        "test_a_joint_that_is_off_does_nothing[affine-laws0]",
        "test_a_joint_that_is_off_does_nothing[affine-limit: {lower: -1, upper: 0.05, stiffness: 500}, drive: {mode: effort, target: $pull}]",  # noqa: E501
        "test_nothing_acts_on_or_through_a_joint_that_is_off[affine]",
    ),
    "test_kernel_cache": (
        "test_a_folder_that_cannot_be_made_costs_a_warning",
        "test_a_folder_that_cannot_be_written_is_read",
        "test_a_folder_that_is_lost_in_the_midst_costs_a_warning",
        "test_a_process_that_is_killed_while_it_writes_leaves_nothing_that_is_read",
        "test_kernels_are_kept_by_version_and_processor",
        "test_kernels_that_were_used_longest_ago_go_first",
        "test_two_processes_at_once_do_no_harm",
    ),
    "test_kernels_shared": (
        "test_another_scene_of_a_kind_needs_no_other_kernel[generalized-vulkan]",
    ),
    "test_laws_energies": (
        "test_energy_is_stored_where_it_is[generalized-semi_implicit]",
        "test_energy_is_stored_where_it_is[natural-zhong06]",
        "test_what_is_dissipated_never_falls[generalized-semi_implicit]",
        "test_what_is_dissipated_never_falls[natural-zhong06]",
    ),
    "test_laws_integrators": (
        "test_angles_count_turns_and_poses_do_not_mind[implicit]",
        "test_angles_count_turns_and_poses_do_not_mind[rk4]",
        "test_motion_and_ledger_converge_with_the_order[implicit]",
        "test_motion_and_ledger_converge_with_the_order[semi_implicit]",
        "test_stiff_drives_are_stiff",
        "test_stiff_drives_settle_where_they_carry_the_weight[implicit]",
        "test_stiff_drives_settle_where_they_carry_the_weight[semi_implicit]",
    ),
    "test_laws_orders": (
        "test_laws_that_turn_an_arm_in_space[implicit]",
        "test_order_one_where_a_law_switches[implicit]",
        "test_order_two_while_pieces_stand[implicit]",
    ),
    "test_laws_outside": (
        "test_joints_outside_the_tree_obey_the_same_laws[natural]",
    ),
    "test_margins": (
        "test_barriers_begin_at_the_sum_of_margins",
    ),
    "test_massless_bodies": (
        "test_the_maximal_solver_takes_them_and_tends_to_the_same",
        "test_two_joints_about_a_massless_body_are_one_joint[implicit]",
        "test_two_joints_about_a_massless_body_are_one_joint[semi_implicit]",
    ),
    "test_measures": (
        "test_a_failed_world_keeps_what_it_had_measured",
        "test_a_world_measures_the_same_in_any_batch[affine-bdf2]",
        "test_a_world_that_stops_measures_the_step_at_which_it_does",
        "test_drives_give_what_their_laws_say[affine-bdf2]",
        "test_drives_give_what_their_laws_say[maximal-semi_implicit]",
        "test_drives_give_what_their_laws_say[natural-zhong06]",
        "test_events_in_the_midst_of_a_frame_lose_no_step",
        "test_expectations_record_what_they_name",
        "test_measures_are_those_of_a_file_with_every_step[affine-bdf2]",
        "test_measures_are_those_of_a_file_with_every_step[generalized-semi_implicit]",
        "test_measures_are_those_of_a_file_with_every_step[maximal-semi_implicit]",
        "test_measures_are_those_of_a_file_with_every_step[natural-zhong06]",
        "test_measures_go_on_where_a_run_was_stopped",
        "test_measures_of_what_a_step_places_are_those_of_every_step[generalized-semi_implicit]",
        "test_measures_of_what_a_step_places_are_those_of_every_step[maximal-semi_implicit]",
    ),
    "test_modes": (
        "test_a_closed_loop_is_the_same_in_every_form[natural]",
        "test_gears_armature_and_torsion_springs_in_and_outside_the_tree[tree]",
        "test_pendulum",
    ),
    "test_modes_oracles": (
        "test_arm_rests_and_swings_as_in_mujoco",
    ),
    "test_motions_of_joints": (
        "test_an_affine_screw_motion",
        "test_closed_forms[generalized-rk4-names0-4-bounds0]",
        "test_closed_forms[maximal-semi_implicit-names3-1-bounds3]",
        "test_closed_forms[natural-generalized_alpha-names2-2-bounds2]",
        "test_closed_forms[natural-zhong06-names1-2-bounds1]",
    ),
    "test_natural_forces": (
        "test_damped_oscillators_in_closed_form",
    ),
    "test_natural_impulses": (
        "test_reaction_force_and_jump_of_an_impact_stand_in_one_frame[natural-moreau]",
    ),
    "test_natural_led": (
        "test_a_step_whose_iteration_fails_ends_its_world_by_name",
    ),
    "test_natural_massless": (
        "test_what_lacks_inertia_moves_by_its_joints[generalized_alpha]",
        "test_what_lacks_inertia_moves_by_its_joints[zhong06]",
    ),
    "test_natural_output": (
        "test_frames_hold_the_coordinates_that_the_scene_chooses",
        "test_info_names_the_kinds",
    ),
    "test_natural_quadratic": (
        "test_a_step_that_turns_too_far_ends_its_world_by_name",
        "test_steps_without_poses_are_those_of_the_general_way[double-zhong06]",
    ),
    "test_planar": (
        "test_a_thrown_disc_flies_in_its_plane[xy]",
    ),
    "test_prestress": (
        "test_a_prism_has_one_state_of_self_stress",
        "test_another_twist_cannot_be_stressed",
    ),
    "test_programs": (
        "test_worlds_that_are_done_keep_their_bytes[bdf2]",
        "test_worlds_that_are_done_keep_their_bytes[rk4]",
    ),
    "test_pulleys": (
        "test_a_bead_on_a_cable_rests_where_both_parts_lean_alike",
        "test_a_cable_without_a_turn_is_a_straight_spring[natural-moreau]",
        "test_a_cable_without_a_turn_is_a_straight_spring[natural-zhong06]",
        "test_accelerations_are_those_of_a_spatial_tendon[stiffness: 60, damping: 1.5, rest_length: 1.2-stiffness=\"60\" damping=\"1.5\" springlength=\"1.2\"]",  # noqa: E501
        "test_generalized_alpha_resolves_no_swing_and_slides_on",
        "test_masses_over_pulleys_fall_as_atwood_says[generalized-rk4]",
        "test_masses_over_pulleys_fall_as_atwood_says[maximal-semi_implicit]",
        "test_masses_over_pulleys_fall_as_atwood_says[natural-moreau]",
        "test_masses_over_pulleys_fall_as_atwood_says[natural-zhong06]",
        "test_pulleys_differ_between_worlds_and_after_events",
    ),
    "test_python_page": (
        "test_its_environment_passes_the_checker_of_gymnasium",
    ),
    "test_quantities": (
        "test_a_motion_drives_with_what_the_other_laws_leave[affine]",
        "test_a_motion_drives_with_what_the_other_laws_leave[generalized]",
        "test_a_motion_drives_with_what_the_other_laws_leave[maximal]",
        "test_contacts_and_distances_of_bodies[affine]",
        "test_contacts_and_distances_of_bodies[generalized]",
        "test_distances_are_those_of_mujoco",
        "test_motions_put_in_what_the_ledger_says[affine]",
        "test_motions_put_in_what_the_ledger_says[maximal]",
        "test_the_drive_of_a_ball_is_a_spring_on_its_rotation_vector[maximal]",
    ),
    "test_range_sensors": (
        "test_a_cone_the_ground_the_own_body_and_the_reach",
    ),
    "test_rays": (
        "test_pictures_are_the_same_whoever_draws_them",
    ),
    "test_records_faults": (
        "test_a_killed_run_can_be_run_again_and_repaired",
        "test_bit_flips_are_found_or_harmless",
        "test_flips_in_the_sizes_of_texts_are_refused_in_no_time",
    ),
    "test_records_reader": (
        "test_repair_makes_a_killed_file_plain",
    ),
    "test_records_writer": (
        "test_the_digest_does_not_depend_on_blocks_or_commits",
        "test_two_writers_of_one_file",
    ),
    "test_run_ends": (
        "test_a_stopped_run_goes_on_to_the_same_end",
        "test_what_is_asked_for_is_simulated[generalized]",
    ),
    "test_run_isolation": (
        "test_frames_before_the_failure_are_those_of_the_world_alone",
        "test_summary_and_json_name_world_step_time_joint_body_and_code",
    ),
    "test_run_resume": (
        "test_checkpoints_of_another_file_are_not_used",
        "test_events_of_the_scene_come_once",
        "test_failed_worlds_stay_failed",
        "test_other_circumstances_are_refused",
        "test_stopped_runs_go_on_to_the_same_bytes[swing-sets1]",
    ),
    "test_run_worlds": (
        "test_any_of_them_have_the_bytes_of_the_whole[affine]",
    ),
    "test_sample_tables": (
        "test_cells_are_those_of_python",
    ),
    "test_samples": (
        "test_scrambling_is_no_shift",
    ),
    "test_selection": (
        "test_run_select_cuts_the_file_as_the_scene_does",
    ),
    "test_sensor_noise": (
        "test_signals_see_what_files_hold[generalized]",
        "test_white_noise_has_its_variance_and_no_memory",
        "test_worlds_alone_and_frames_further_apart_have_the_same_numbers",
    ),
    "test_sensors": (
        "test_sensors_are_those_of_mujoco[generalized-rk4]",
        "test_sensors_are_those_of_mujoco[maximal-semi_implicit]",
        "test_sensors_are_those_of_mujoco[natural-zhong06]",
        "test_sensors_of_worlds_and_templates_are_quantities_like_others",
        "test_sensors_on_affine_bodies_show_their_bodies[bdf1]",
        "test_touch_carries_the_weight[generalized]",
    ),
    "test_signals": (
        "test_a_driven_mass_moves_as_in_closed_form[implicit]",
        "test_a_driven_mass_moves_as_in_closed_form[rk4]",
        "test_a_driven_mass_moves_as_in_closed_form[semi_implicit]",
        "test_a_position_drive_takes_no_rate_from_its_signal",
        "test_constant_signals_are_the_numbers_that_they_stand_for",
        "test_kinds_have_their_closed_forms",
    ),
    "test_simulation": (
        "test_a_file_says_what_was_set",
        "test_a_snapshot_goes_on_to_the_same_bits",
        "test_controls_give_the_bytes_of_a_table[affine-bdf1]",
        "test_events_measures_and_ends_are_those_of_runs",
        "test_free_bodies_are_put_where_they_shall_be[generalized]",
        "test_looks_between_frames_change_no_byte",
        "test_parameters_are_set_as_events_set_them",
        "test_targets_of_drives_by_joint_are_those_of_the_scene",
    ),
    "test_simulation_starts": (
        "test_feedback_begins_anew_and_sensors_are_quantities",
    ),
    "test_sliding_points": (
        "test_beads_slide_down_and_spin_on[affine-bdf2]",
        "test_beads_slide_down_and_spin_on[generalized-rk4]",
        "test_beads_slide_down_and_spin_on[maximal-semi_implicit]",
        "test_beads_slide_down_and_spin_on[natural-generalized_alpha]",
        "test_beads_slide_down_and_spin_on[natural-zhong06]",
        "test_solvers_agree_on_a_chain[affine-bdf2]",
        "test_solvers_agree_on_a_chain[maximal-semi_implicit]",
        "test_solvers_agree_on_a_chain[natural-generalized_alpha]",
        "test_solvers_agree_on_a_chain[natural-zhong06]",
    ),
    "test_source_text": (
        "test_texts_of_all_device_functions_are_those_of_the_file",
    ),
    "test_spec_broken": (
        "test_fuzzed_scenes_end_in_a_scene_or_a_scene_error",
    ),
    "test_spec_hostile": (
        "test_no_tree_is_built_of_a_long_text_with_a_mistake_at_its_end",
    ),
    "test_spec_mistakes": (
        "test_several_mistakes_are_told_at_once",
        "test_there_are_three_hundred_scenes_of_nineteen_kinds",
    ),
    "test_start": (
        "test_frame_0_is_the_start[natural]",
    ),
    "test_sweep_commands": (
        "test_a_call_gives_the_table",
        "test_the_check_of_a_folder",
    ),
    "test_sweep_driver": (
        "test_processes_that_die_cost_their_chunk_and_no_more",
    ),
    "test_sweep_kills": (
        "test_an_array_of_shards",
    ),
    "test_sweep_plan": (
        "test_a_run_of_some_worlds_is_a_sweep_of_them",
    ),
    "test_sweep_results": (
        "test_nothing_is_left_of_a_chunk_that_was_stopped",
        "test_the_table_has_the_same_bytes_whatever_the_chunks_were",
        "test_the_table_holds_the_numbers_of_whole_batches",
        "test_what_is_left_is_no_error",
        "test_worlds_that_cannot_begin_are_failed_and_scenes_that_are_none_refused",
    ),
    "test_sweep_tables": (
        "test_what_a_chunk_needs_travels_in_one_file",
    ),
    "test_torsion": (
        "test_a_torsion_spring_swings_as_the_closed_form_says",
    ),
    "test_traces": (
        "test_the_next_run_of_a_scene_traces_nothing",
        "test_what_a_trace_reads_of_another_scene_is_another[text1-sets1]",
    ),
    "test_unsolved": (
        "test_a_quiet_run_tells_the_worst_step_and_fails_where_that_is_wanted[generalized]",
    ),
    "test_view": (
        "test_a_mesh_that_is_only_seen_is_found_beside_its_scene_and_never_needed",
        "test_a_run_says_where_its_page_is_and_ends_with_it",
    ),
    "test_weightless": (
        "test_motions_are_those_of_generalized_coordinates[maximal]",
    ),
    "test_world_ends": (
        "test_a_world_ends_with_the_step_that_meets_its_end[affine-{quantity: joint.elbow.q, below: 0.45}-<lambda>]",
        "test_a_world_ends_with_the_step_that_meets_its_end[maximal-{quantity: joint.elbow.q, below: 0.45}-<lambda>]",
        "test_measures_do_not_depend_on_what_is_written[affine]",
        "test_measures_do_not_depend_on_what_is_written[generalized]",
        "test_measures_do_not_depend_on_what_is_written[maximal]",
        "test_what_only_measures_need_does_not_leave_the_device[affine]",
        "test_what_only_measures_need_does_not_leave_the_device[generalized]",
        "test_what_only_measures_need_does_not_leave_the_device[maximal]",
    ),
}
