"""Helm, where it is: without it the tests of what it renders are skipped, and pytest's summary says so."""

import shutil

import pytest
from rigs.helm import Helm, digits_values


@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    program = shutil.which("helm")
    if program is None:
        pytest.skip("charts/sonorant was not rendered: helm is not in PATH; `make test CLUSTER_BIN=FOLDER` adds one")
    return Helm(program, tmp_path_factory.mktemp("values"))


@pytest.fixture(scope="session")
def manifests(helm):
    """What the defaults install."""
    return helm.render(digits_values())
