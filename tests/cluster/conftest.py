"""What these tests need is needed: without it they fail, and say what is missing.

On two workers, one takes the files whose pods never run, and the other all else: two trainings at once would leave the
planner's no core to grow into.
"""

import shutil
from pathlib import Path

import pytest
from rigs.cluster import delete_namespaces
from rigs.helm import Helm
from xdist.scheduler import LoadScopeScheduling

WITHOUT_PODS = {"test_acceptance", "test_autoscaler", "test_doctor", "test_skaffold", "test_upgrade"}


def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput"):
        return  # it was done before the workers began
    try:
        delete_namespaces()
    except (AssertionError, OSError) as error:
        pytest.exit(f"no cluster to test on: {error}", returncode=69)


class _ByPods(LoadScopeScheduling):
    """Two scopes: the files whose pods run, and the others."""

    def _split_scope(self, nodeid):
        return str(Path(nodeid.partition("::")[0]).stem in WITHOUT_PODS)


def pytest_xdist_make_scheduler(config, log):
    return _ByPods(config, log)


@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    program = shutil.which("helm")
    if program is None:
        pytest.fail("helm is not in PATH; these tests install charts/sonorant with it")
    return Helm(program, tmp_path_factory.mktemp("values"))


@pytest.fixture(scope="session")
def data_folder(request):
    """As in other tests, but not to be done without."""
    try:
        return request.getfixturevalue("data_folder")
    except pytest.skip.Exception as missing:
        pytest.fail(str(missing))
