"""Cases that take over 7 s and are told by another solver or integrator of the same test: slow, as their marks would say."""

SLOW_CASES = {
    "test_bushings": (
        "test_dampers_keep_the_order_of_natural_steps[generalized_alpha]",
        "test_solvers_agree[natural]",
    ),
    "test_couplings": (
        "test_a_drive_gives_no_more_than_its_limit_and_its_force_is_that_of_the_row[natural-zhong06]",
        "test_solvers_agree_on_coordinates_work_and_losses[generalized-implicit-text1]",
        "test_solvers_agree_on_coordinates_work_and_losses[maximal-semi_implicit-text2]",
        "test_solvers_agree_on_coordinates_work_and_losses[natural-zhong06-text3]",
        "test_two_sliders_swing_against_each_other[generalized-implicit]",
        "test_two_sliders_swing_against_each_other[maximal-semi_implicit]",
    ),
    "test_crossings": (
        "test_an_event_switches_its_values_where_the_next_step_begins[natural-generalized_alpha]",
        "test_gains_of_expressions_are_switched_by_condition[natural-generalized_alpha]",
    ),
    "test_drag": (
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[affine-bdf2]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[maximal-semi_implicit]",
        "test_falls_and_decays_are_those_of_the_formulas_with_their_order[natural-generalized_alpha]",
    ),
    "test_elements": (
        "test_the_start_is_that_of_the_formula[generalized-implicit]",
        "test_the_start_is_that_of_the_formula[natural-generalized_alpha]",
    ),
    "test_feedback": (
        "test_signals_see_what_a_frame_of_that_time_shows[natural-generalized_alpha]",
    ),
    "test_frames_with_contact": (
        "test_accelerations_and_efforts_are_those_of_free_motion[generalized-implicit]",
    ),
    "test_gravity_compensation": (
        "test_falls_and_accelerations_in_every_solver[affine-bdf2]",
        "test_falls_and_accelerations_in_every_solver[natural-generalized_alpha]",
    ),
    "test_measures": (
        "test_measures_are_those_of_a_file_with_every_step[affine-bdf2]",
        "test_measures_of_what_a_step_places_are_those_of_every_step[maximal-semi_implicit]",
    ),
    "test_motions_of_joints": (
        "test_closed_forms[maximal-semi_implicit-names3-1-bounds3]",
        "test_closed_forms[natural-zhong06-names1-2-bounds1]",
    ),
    "test_natural_massless": (
        "test_what_lacks_inertia_moves_by_its_joints[generalized_alpha]",
    ),
    "test_programs": (
        "test_worlds_that_are_done_keep_their_bytes[bdf2]",
    ),
    "test_quantities": (
        "test_a_motion_drives_with_what_the_other_laws_leave[maximal]",
        "test_contacts_and_distances_of_bodies[affine]",
    ),
    "test_run_worlds": (
        "test_any_of_them_have_the_bytes_of_the_whole[affine]",
    ),
    "test_sensors": (
        "test_sensors_are_those_of_mujoco[maximal-semi_implicit]",
        "test_sensors_are_those_of_mujoco[natural-zhong06]",
    ),
    "test_sliding_points": (
        "test_beads_slide_down_and_spin_on[natural-generalized_alpha]",
        "test_beads_slide_down_and_spin_on[natural-zhong06]",
    ),
    "test_world_ends": (
        "test_measures_do_not_depend_on_what_is_written[affine]",
        "test_measures_do_not_depend_on_what_is_written[maximal]",
        "test_what_only_measures_need_does_not_leave_the_device[affine]",
        "test_what_only_measures_need_does_not_leave_the_device[maximal]",
    ),
}
