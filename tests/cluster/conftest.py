"""What these tests need is needed: without it they fail, and say what is missing.

On two workers, one takes the files whose pods never run, and the other all else: two trainings at once would leave the
planner's no core to grow into.
"""

import shutil

import pytest
from cluster_rig import delete_namespaces
from helm_rig import Helm

WITHOUT_PODS = {"test_acceptance", "test_autoscaler", "test_doctor", "test_skaffold", "test_upgrade"}


def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput"):
        return  # it was done before the workers began
    try:
        delete_namespaces()
    except (AssertionError, OSError) as error:
        pytest.exit(f"no cluster to test on: {error}", returncode=69)


def pytest_itemcollected(item):
    item.add_marker(pytest.mark.xdist_group("without pods" if item.path.stem in WITHOUT_PODS else "pods"))


@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    program = shutil.which("helm")
    if program is None:
        pytest.fail("helm is not in PATH; these tests install charts/sonorant with it")
    return Helm(program, tmp_path_factory.mktemp("values"))
