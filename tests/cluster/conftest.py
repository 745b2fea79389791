"""What these tests need is needed: without it they fail, and say what is missing."""

import shutil

import pytest
from cluster_rig import delete_namespaces
from helm_rig import Helm


@pytest.fixture(scope="session", autouse=True)
def nothing_left():
    delete_namespaces()


@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    program = shutil.which("helm")
    if program is None:
        pytest.fail("helm is not in PATH; these tests install charts/sonorant with it")
    return Helm(program, tmp_path_factory.mktemp("values"))
