"""The page of the manual about simulations in process: its programs run, and its environment is one of gymnasium."""

import warnings

import numpy as np
import pytest
from support.pages import blocks, page

MOST_LINES = 80  # of the environment


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the programs of the page define, and the lines of the last one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        found = {}
        for kind, text in blocks(page("python")):
            if kind == "yaml":
                with open(text.split("\n")[0].removeprefix("# "), "w") as file:
                    file.write(text)
            else:
                exec(compile(text, "python.md", "exec"), found)
        yield found, text


def test_its_environment_passes_the_checker_of_gymnasium(told):
    from gymnasium.utils.env_checker import check_env

    found, text = told
    assert len(text.splitlines()) <= MOST_LINES
    env = found["CartPole"]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(spec|render).*")  # of registered environments, and of pictures
        check_env(env)
    env.close()


def test_its_worlds_are_a_vector_of_environments(told):
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    found, _ = told
    env = RecordEpisodeStatistics(found["CartPoles"](6, longest=40))
    states, _ = env.reset(seed=3)
    env.action_space.seed(3)
    ended = np.zeros(6, int)
    for _ in range(120):
        assert states in env.observation_space
        states, rewards, fallen, late, infos = env.step(env.action_space.sample())
        assert rewards.shape == fallen.shape == late.shape == (6,)
        ended += fallen | late
        if "episode" in infos:
            lengths = infos["episode"]["l"][infos["_episode"]]
            assert (lengths <= 41).all()
    assert (ended >= 2).all()
    env.close()

    alone, many = found["CartPoles"](1), found["CartPoles"](3)  # a seed says it all
    for one in (alone, many, alone):
        first = one.reset(seed=7)[0]
        second = one.reset(seed=7)[0]
        assert np.array_equal(first, second)
        assert np.abs(first).max() > 0
    for one in (alone, many):
        one.close()
