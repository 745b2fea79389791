from hypothesis import given
from hypothesis import strategies as st

from services.process.trouble import Trouble


@given(st.floats(0, 100), st.lists(st.floats(0, 3), max_size=40))
def test_there_are_tries_until_the_patience_is_over_and_never_many(patience_s, waits):
    trouble, now, since, tries = Trouble(patience_s), 50.0, None, []
    for wait in waits:
        now += wait
        if not trouble.due(now):
            continue
        since = now if since is None else since
        assert trouble.failed(now) == (now < since + patience_s)
        tries.append(now)
        assert not trouble.due(now)
        assert trouble.due(now + 1.0)
    assert len(tries) <= 5 + (now - 50.0)


def test_a_success_forgets_what_was():
    trouble = Trouble(1.0)
    assert trouble.failed(0.0)
    assert trouble.lasts
    assert trouble.passed(0.5) == 0.5
    assert not trouble.lasts
    assert trouble.due(0.5)
    assert trouble.failed(5.0)
