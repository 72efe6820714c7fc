"""What rests, swings or touches knows neither where the world's axes point nor in which order a file lists bodies."""

import json

import numpy as np
import pytest
from support.process import simcli as command

from metamorphic.mechanisms import heap, mechanism, planar_loop
from metamorphic.motions import difference
from metamorphic.relations import BY, TURN, backwards
from metamorphic.written import N_RATES, scene_of, turned

TOUCHING = 1e-5  # [m, m/s, rad/s]


@pytest.mark.parametrize("slides", [False, True])
def test_planar_loop_rests_and_swings_the_same_in_an_oblique_plane(tmp_path, slides):
    made = planar_loop(slides)
    found = []
    for one in (made, turned(made, TURN, BY)):
        scene, path = scene_of(one), tmp_path / "scene.json"
        scene["joints"]["j0"] |= {"qd": 0, "drive": {"mode": "position", "stiffness": 200, "damping": 1, "target": 0}}
        path.write_text(json.dumps(scene))
        answers = [json.loads(command(verb, path, "--json").stdout) for verb in ("equilibrium", "modes")]
        rates = [mode["frequency"] for mode in answers[1]["modes"]]
        found.append(([answers[0]["joint_q"][name] for name in sorted(made["joints"])], rates))
    for plain, oblique in zip(*found, strict=True):
        assert len(plain) > 0
        np.testing.assert_allclose(np.ravel(oblique), np.ravel(plain), rtol=1e-6, atol=1e-9)


def test_contact_that_carries_rounding_leaves_steps_of_natural_coordinates_smooth(tmp_path):
    made = heap(19, 3, ("box", "sphere", "capsule"))  # one of few in which the order of the file decides what is rounding
    found = difference(tmp_path, scene_of(made), backwards(made), ("natural", "moreau"), 2e-3, 0.3)
    assert max(found[name] for name in "xvw") < TOUCHING, found


def test_random_mechanisms_have_all_joints():
    made = [mechanism(seed, 4 + seed % 3, seed % 2 == 0) for seed in range(6)]
    assert {joint["type"] for one in made for joint in one["joints"].values()} == set(N_RATES)
