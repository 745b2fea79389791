"""A stage whose main loop hangs goes on beating; where no kubelet asks, it ends itself."""

import contextlib

from rigs.accident import HANGS, accident
from rigs.training_run import PATIENCE_S, Run, tiny_recipe, write_run


def test_a_stage_whose_main_loop_hangs_ends_and_says_where(tmp_path, redis_url):
    with contextlib.ExitStack() as stack:
        run = Run(write_run(tmp_path / "run", tiny_recipe()), redis_url, stack, replicas=0)
        hangs = accident(tmp_path / "accident", HANGS, module="services.example_server")
        assert run.serve("--max-iteration-s", "2", environment=hangs).wait(PATIENCE_S) == 75
        assert "main_loop_hangs" in run.log("example_server")
        assert "time.sleep(600)" in run.log("example_server")
