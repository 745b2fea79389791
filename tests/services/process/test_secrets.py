from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.process.secrets import masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://:pass@host:6379/0", "redis://***@host:6379/0"),
        ("Redis at redis://me:p@ss/w@host:6379/0 is away", "Redis at redis://***@host:6379/0 is away"),
        ("unix:///run/redis.sock?db=0&password=pass", "unix:///run/redis.sock?db=0&password=***"),
        ("http://key:pass@s3:9000 and https://host/", "http://***@s3:9000 and https://host/"),
        ("{'secret_access_key=pass'}", "{'secret_access_key=***'}"),
        (f"Bearer sonorant-{'aB3_-' * 8}xyz, again", "Bearer sonorant-***, again"),
    ],
)
def test_an_address_keeps_its_host_and_loses_its_user_and_password(text, shown):
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text", ["redis://host:6379/0", "mail me@host", "s3://bucket/runs", "a:b@c", "design=5", "sonorant-stage:1"]
)
def test_what_is_no_secret_stays(text):
    assert masked(text) == text


@given(st.text(min_size=8), st.sampled_from(["", "user"]))
def test_no_password_that_a_url_can_hold_is_shown(password, user):
    written = quote(password, safe="!$&'()*+,;=@/:")
    assert f":{written}@" not in masked(f"({user!r}: redis://{user}:{written}@host/0, again)")
