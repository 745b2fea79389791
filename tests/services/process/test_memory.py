import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from services.process.memory import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
def work():
    arrays = [np.ones(1 << 21, np.float32) for _ in range(6)]  # 8 MiB each, 2,048 pages
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_memory_that_was_freed_does_not_fault_again():
    def faults(way):
        run = subprocess.run([sys.executable, "-c", PROGRAM, way], capture_output=True, text=True, check=True)
        return int(run.stdout)

    assert faults("kept") < 200 < faults("given back")
