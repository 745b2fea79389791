import base64

import pytest

from services.process.keys import BadKeys, CurvePair, Keys, load_keys

SECRET = bytes(range(32))


def test_a_folder_without_files_has_no_keys(tmp_path):
    assert load_keys(tmp_path) == Keys()


def test_the_curve_pair_follows_from_the_secret(tmp_path):
    (tmp_path / "curve.key").write_bytes(base64.b64encode(SECRET) + b"\n")
    curve = load_keys(tmp_path).curve
    assert curve == CurvePair.of(SECRET)
    assert len(curve.public) == len(curve.secret) == 40
    assert curve.public != CurvePair.of(SECRET[::-1]).public


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"curve.key": b"#"}, r"curve\.key: not base64"),
        ({"curve.key": base64.b64encode(SECRET[:31])}, r"curve\.key: 31 bytes, must be 32"),
        ({"tls.crt": b"-----BEGIN CERTIFICATE-----"}, r"tls\.key is missing"),
        ({"tls.key": b"x"}, r"tls\.crt is missing"),
        ({"ca.crt": b"x"}, r"ca\.crt: holds no certificate"),
    ],
)
def test_what_is_no_key_is_named_and_not_shown(tmp_path, files, says):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadKeys, match=says):
        load_keys(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadKeys, match="SONORANT_KEYS"):
        load_keys(tmp_path / "none")


def test_keys_do_not_show_in_logs():
    assert base64.b64encode(SECRET).decode() not in repr(Keys(CurvePair.of(SECRET)))
    assert CurvePair.of(SECRET).secret.decode() not in repr(CurvePair.of(SECRET))
