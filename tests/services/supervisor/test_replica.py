import asyncio
import os
import sys

import pytest

from services.process.restarts import RestartPolicy
from services.supervisor.child import ProcessFailed
from services.supervisor.replica import Replica


def ended(log_file, *codes):
    """Return how a replica failed whose processes end with these codes, one after the other, then with the last."""

    def command(restarts):
        return [sys.executable, "-S", "-c", f"raise SystemExit({codes[min(restarts, len(codes) - 1)]})"]

    replica = Replica("room-0", command, log_file, dict(os.environ), RestartPolicy(most=2, first_pause_s=0.0))
    with pytest.raises(ProcessFailed) as raised:
        asyncio.run(replica.keep())
    return replica.restarts, raised.value


@pytest.mark.parametrize("code", [65, 78])
def test_bad_data_and_a_bad_recipe_end_it_at_the_first_start(tmp_path, code):
    restarts, failed = ended(tmp_path / "log", code)
    assert (restarts, failed.exit_code) == (0, code)
    assert str(failed).endswith(f"room-0 is not restarted: a restart cannot mend exit code {code}")


@pytest.mark.parametrize("codes", [(69,), (1, 65)])
def test_what_may_pass_is_tried_again(tmp_path, codes):
    restarts, failed = ended(tmp_path / "log", *codes)
    assert (restarts, failed.exit_code) == (2, 70)
