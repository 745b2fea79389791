"""A ledger of the tiny corpus."""

import pytest

from sonorant.delivery.ledger import MemoryLedger


@pytest.fixture
def ledger():
    return MemoryLedger(total=22)
