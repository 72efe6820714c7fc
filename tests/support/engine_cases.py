"""Tests of the mark `engine`: of these files all, and cases that `costs.py --engine` chooses."""

ENGINE_FILES = (
    'test_cli_precompile',
    'test_finishing',
    'test_gpu_code',
    'test_kernel_cache',
    'test_kernels_elementary',
    'test_kernels_shared',
    'test_machine_code',
    'test_rays',
    'test_stubs',
    'test_traces',
)

ENGINE_CASES: dict[str, tuple[str, ...]] = {
    'test_bushings': (
        'test_preload_is_what_it_gives_at_rest',
    ),
    'test_cables': (
        'test_two_free_bodies_keep_their_momenta_and_the_ledger_closes',
    ),
    'test_cams': (
        'test_a_held_sum_of_three_is_atwoods_machine',
    ),
    'test_collision': (
        'test_a_face_gives_its_own_normal_to_what_is_curved[cone]',
        'test_a_line_has_two_points[box-capsule]',
        'test_degenerate_poses_give_sane_contacts[crossed]',
    ),
    'test_collision_terrain': (
        'test_level_ground_has_one_normal[mesh-1.5707963267948966]',
    ),
    'test_drag': (
        'test_all_solvers_agree_and_the_ledger_closes[generalized-rk4]',
    ),
    'test_joint_cells': (
        'test_what_is_refused_is_named[generalized]',
        'test_what_is_taken_changes_the_motion[affine]',
        'test_what_is_taken_changes_the_motion[generalized]',
        'test_what_is_taken_changes_the_motion[maximal]',
        'test_what_is_taken_changes_the_motion[natural]',
    ),
    'test_laws_integrators': (
        'test_angles_count_turns_and_poses_do_not_mind[semi_implicit]',
    ),
    'test_motion_ledger': (
        'test_a_rotor_takes_its_part_of_a_jump[0.27-generalized-semi_implicit]',
        'test_a_rotor_takes_its_part_of_a_jump[0.27-maximal-semi_implicit]',
        'test_a_rotor_takes_its_part_of_a_jump[0.27-natural-generalized_alpha]',
        'test_a_rotor_takes_its_part_of_a_jump[0.27-natural-zhong06]',
    ),
    'test_natural_joints': (
        'test_accelerations_are_those_of_the_motion',
    ),
    'test_prestress': (
        'test_a_stiff_torsion_spring_needs_no_small_step',
    ),
    'test_programs': (
        'test_registers_that_begin_at_zero_are_set_by_lists_alone[generalized]',
        'test_what_whole_blocks_repeat_is_decided_by_numbers_of_blocks[bdf1]',
        'test_what_whole_blocks_repeat_is_decided_by_numbers_of_blocks[maximal]',
        'test_what_whole_blocks_repeat_is_decided_by_numbers_of_blocks[moreau]',
        'test_what_whole_blocks_repeat_is_decided_by_numbers_of_blocks[rk4]',
    ),
    'test_records_faults': (
        'test_a_full_disk_is_exit_6_and_a_readable_file[4000000-more6]',
        'test_kill_9_leaves_every_committed_frame[0.12-victims0]',
    ),
    'test_run_determinism': (
        'test_a_world_has_the_same_bytes_in_a_batch_of_any_size[7]',
        'test_a_world_replayed_alone_has_the_same_bytes[5]',
        'test_one_and_two_threads_give_the_same_bytes',
    ),
    'test_run_kill': (
        'test_a_polite_signal_leaves_a_stopped_file[15-75-process]',
    ),
    'test_run_resume': (
        'test_stopped_runs_go_on_to_the_same_bytes[mixed-sets0]',
    ),
    'test_run_worlds': (
        'test_any_of_them_have_the_bytes_of_the_whole[generalized]',
        'test_no_byte_of_another_world_changes[float64-not finite-8]',
        'test_tables_take_a_number_that_varies_alone[affine-com-{diag: [0.1, 0.1, 0.1]}]',
        'test_the_failed_world_is_named_in_the_events[float64-too fast-1]',
    ),
    'test_simulation_starts': (
        'test_friction_of_barriers_comes_and_goes[0.4]',
    ),
    'test_spec_broken': (
        'test_all_faults_at_once',
        'test_broken_scene[7-SC101]',
    ),
}
