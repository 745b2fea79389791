import hashlib
from contextlib import suppress
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.serving.api_keys import ApiKey, ApiKeys, BadApiKeys, hashed, new_secret, parse_keys
from sonorant.serving.errors import Unauthenticated

TODAY = date(2026, 11, 25)
HASH = "sha256:" + hashlib.sha256(b"abc").hexdigest()
LONG_AGO, LATER = date(2000, 1, 1), date(2999, 12, 31)

NAMES = st.text("aZ09._-", max_size=62).map(lambda rest: f"a{rest}")
KEYS = st.builds(
    ApiKey,
    NAMES,
    st.binary(min_size=32, max_size=32),
    st.none() | st.integers(1, 999_999_999),
    st.none() | st.dates(LONG_AGO, LATER),
    st.booleans(),
)


@given(
    st.lists(KEYS, max_size=4, unique_by=lambda key: key.digest), st.sampled_from(["\n", "\n\n", " # old\n", "\r\n"])
)
def test_what_is_written_is_read(keys, end):
    assert parse_keys("".join(key.line() + end for key in keys), "keys") == keys


def test_hashes_are_those_of_the_standard():
    # FIPS 180-2, appendix B.1
    assert hashed("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert parse_keys(f"a {HASH}", "keys")[0].digest == hashed("abc")


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_secret_has_all_its_random_bits_and_only_letters_that_a_header_and_a_subprotocol_can_hold(one, other):
    secret = new_secret(one)
    assert (secret == new_secret(other)) == (one == other)
    assert secret.replace("-", "").replace("_", "").isalnum()
    assert secret.isascii()
    assert len(secret) == len("sonorant-") + 43


@pytest.mark.parametrize(
    ("old", "new", "expected"), [(2, None, 2), (None, 2, 2), (5, 2, 2), (2, 5, 2), (None, None, None)]
)
def test_a_key_beside_another_of_its_name_has_the_least_limit_of_both(old, new, expected):
    keys = ApiKeys([ApiKey("a", hashed("old"), old), ApiKey("b", hashed("b"), 1), ApiKey("a", hashed("new"), new)])
    assert [keys.find(secret, TODAY).streams for secret in ("old", "new", "b")] == [expected, expected, 1]


def test_fewer_bits_make_no_secret():
    with pytest.raises(ValueError, match="16 random bytes, must be 32"):
        new_secret(bytes(16))


@given(st.integers(-400, 400), st.booleans())
def test_a_key_is_accepted_until_it_expires_or_is_disabled(days, disabled):
    keys = ApiKeys([ApiKey("a", hashed("abc"), expires=TODAY, disabled=disabled)])
    today = TODAY + timedelta(days)
    if days < 0 and not disabled:
        assert keys.find("abc", today).name == "a"
    else:
        with pytest.raises(Unauthenticated, match=r"^API key 'a': (disabled|expired on 2026-11-25)$"):
            keys.find("abc", today)


@pytest.mark.parametrize("secret", ["abd", "", "ab", "abc ", "ABC", HASH, HASH[7:], "\udc80", "é"])
def test_another_secret_is_unknown_and_not_quoted(secret):
    keys = ApiKeys(parse_keys(f"a {HASH}\nb {HASH[:-1]}0", "keys"))
    with pytest.raises(Unauthenticated, match=r"^unknown API key$"):
        keys.find(secret, TODAY)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a", "nothing after the name 'a': expected sha256: and 64 hexadecimal digits"),
        ("a sonorant-secret", "15 characters after the name 'a': expected sha256:"),
        (f"a {HASH[:-1]}", "70 characters after the name"),
        (f"a {HASH.upper()}", "71 characters after the name"),
        (f"a {HASH[7:]}", "64 characters after the name"),
        (f"-a {HASH}", "name '-a': expected 1 to 63 letters"),
        (f"{'a' * 64} {HASH}", "expected 1 to 63 letters"),
        (f"ä {HASH}", "expected 1 to 63 letters"),
        (f"a {HASH} streams", "'streams': expected streams=NUMBER, expires=YEAR-MONTH-DAY, disabled"),
        (f"a {HASH} streams=0", "streams=0: expected a number from 1 on"),
        (f"a {HASH} streams=-1", "streams=-1: expected"),
        (f"a {HASH} streams=1e3", "streams=1e3: expected"),
        (f"a {HASH} streams=٣", "streams=٣: expected"),
        (f"a {HASH} streams=1 streams=2", "streams: twice"),
        (f"a {HASH} expires=tomorrow", "expires=tomorrow: expected a date such as 2027-01-31"),
        (f"a {HASH} expires=2027-02-30", "expires=2027-02-30: expected a date"),
        (f"a {HASH} disabled=no", "'disabled=no': expected streams"),
        (f"a {HASH} sessions=3", "'sessions=3': expected streams"),
        (f"a {HASH}\nb {HASH}", "the hash is that of 'a', too; expected each key once"),
    ],
)
def test_a_fault_is_named_with_its_file_and_line(line, reason):
    text = f"# keys\n\n{line}\n"
    with pytest.raises(BadApiKeys) as caught:
        parse_keys(text, "api.keys")
    assert str(caught.value).startswith(f"api.keys, line {3 + line.count(chr(10))}: ")
    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)
    assert HASH[7:] not in str(caught.value)


@given(st.text())
def test_any_text_is_keys_or_refused_by_line(text):
    with suppress(BadApiKeys):
        parse_keys(text, "api.keys")
