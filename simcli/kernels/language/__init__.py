"""The language of device code: Taichi, or Quadrants, as simcli uses it, values on packs, and kernels where they are kept.

Everything else imports the engine from here, as `ti`.

In: Python functions. Out: kernels. Never found here: mechanics, memory of worlds.

What gains less than a fifth of what it is for is not done. Gains are CPU seconds without a trick by those with it (median
of pairs, an AMD EPYC in 2026-11) on a chain of 7 hinges by rk4, two four-bars in natural coordinates (fourbar_natural.yaml)
and five balls that touch. Last comes what tells if it breaks: test_FILE.py, test_NAME.

    Trick                          for      gain  on          told by
    internals._caller_named_only   import   2.9   Taichi      house.python_keeps_its_own_functions
    internals.stands_in_class      import   2.8   solvers     house.modules_are_not_searched_at_a_start
    internals.source_lines         trace    1.3   four-bars   house.texts_of_all_device_functions_are_those_of_the_file
    internals._place_of            trace    2.0   four-bars   finishing.mistakes_are_told_with_their_place
    internals.expression           trace    1.25  balls       finishing.programs_are_those_of_taichis_own_front_end
    finishing.GUARD                compile  2.2   four-bars   finishing.the_bytes_are_those_of_unrolled_loops
    calls.procedure                compile  2.2   balls       finishing.a_procedure_is_compiled_once_and_called_or_inlined
    expressions.keep_vectors       step     2.6   chain       gpu_code.the_lane_code_is_packed_arithmetic
    storage.MASK                   step     1.25  chain       kernels_shared.memory_that_kernels_do_not_reach_is_refused
    finishing.finished_text        step     1.3  stacks      finishing.kept_kernels_load_addresses_once
    numbers.load                   compile  all   next scene  kernels_shared.another_scene_of_a_kind_needs_no_other_kernel
    runtime.advanced_optimization  compile  7.1   balls       finishing.only_what_is_compiled_thoroughly_is
    runtime.KERNEL_THREADS         compile  all   more cores  kernel_cache.kernels_serve_any_number_of_threads
    runtime._goes_on               read     all   next run    cli_precompile.a_device_goes_on_while_nothing_is_new
    traces.Signature               trace    all   next run    traces.the_next_run_of_a_scene_traces_nothing
    traces.take_stub               start    1.4   balls       stubs.what_another_process_has_traced_is_not_traced
    machine_code.make_code         start    1.6   balls       machine_code.a_kernel_is_compiled_once_for_a_processor
    calls.ReadyLaunch              step     7     two links   simulation.launches_that_stand_ready_do_the_same
"""

from simcli.kernels.language.internals import ti

__all__ = ["ti"]
