import pytest
from rigs.babble import export_babble


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Folder `<model>/<version>` of an exported model; tests that change files copy it first."""
    return export_babble(tmp_path_factory.mktemp("exports")).path
