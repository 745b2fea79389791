"""The keys of this process: its identity on links and in gRPC calls, and the authorities that it trusts.

`SONORANT_KEYS` names a folder, such as a mounted Kubernetes secret; without it all is plain text, as on a
laptop. Each file is optional:

    curve.key            32 random bytes in base64, one for all stages and ranks: links are CurveZMQ, and peers
                         without the key are refused
    tls.crt, tls.key     a certificate chain and its key, PEM: presented by servers, and by clients on request
    ca.crt               PEM: the authority that clients trust
    client-ca.crt        PEM: the authority of accepted clients; others are refused
"""

import base64
import binascii
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import zmq
from zmq.utils import z85

from sonorant.errors import SonorantError

__all__ = ["KEYS_VARIABLE", "BadKeys", "CurvePair", "Keys", "load_keys", "process_keys"]

KEYS_VARIABLE = "SONORANT_KEYS"
_CURVE_BYTES = 32


class BadKeys(SonorantError):
    """A folder of keys that cannot be used; the message names the file, never what is in it."""

    exit_code = 78


@dataclass(frozen=True, slots=True, repr=False)
class CurvePair:
    """A Curve25519 key pair, in Z85 as ZeroMQ takes it."""

    public: bytes
    secret: bytes

    @classmethod
    def of(cls, secret: bytes) -> "CurvePair":
        """Return the pair of a secret of 32 bytes."""
        encoded = z85.encode(secret)
        return cls(zmq.curve_public(encoded), encoded)


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """Contents of the folder; None: the file is not there."""

    curve: CurvePair | None = None
    certificate: tuple[bytes, bytes] | None = None  # key and chain
    authority: bytes | None = None
    client_authority: bytes | None = None


def load_keys(folder: Path) -> Keys:
    """Read the keys of a folder. Raises BadKeys if a file is no key, or one of a pair is missing."""
    if not folder.is_dir():
        raise BadKeys(f"{folder}: no folder of keys is there; {KEYS_VARIABLE} names it")
    certificate, key = _read(folder / "tls.crt"), _read(folder / "tls.key")
    if (certificate is None) != (key is None):
        missing = "tls.crt" if certificate is None else "tls.key"
        raise BadKeys(f"{folder}: {missing} is missing; a certificate and its key go together")
    for name, text in (("tls.crt", certificate), ("ca.crt", _read(folder / "ca.crt"))):
        if text is not None and b"-----BEGIN CERTIFICATE-----" not in text:
            raise BadKeys(f"{folder / name}: holds no certificate in PEM")
    return Keys(
        _curve(folder / "curve.key"),
        (key, certificate) if key is not None and certificate is not None else None,
        _read(folder / "ca.crt"),
        _read(folder / "client-ca.crt"),
    )


@cache
def process_keys() -> Keys:
    """Return the keys that `SONORANT_KEYS` names, or none. Raises BadKeys."""
    folder = os.environ.get(KEYS_VARIABLE)
    return load_keys(Path(folder)) if folder else Keys()


def _curve(path: Path) -> CurvePair | None:
    text = _read(path)
    if text is None:
        return None
    try:
        secret = base64.b64decode(text.strip(), validate=True)
    except binascii.Error as error:
        raise BadKeys(f"{path}: not base64: {error}") from error
    if len(secret) != _CURVE_BYTES:
        raise BadKeys(f"{path}: {len(secret)} bytes, must be {_CURVE_BYTES}: head -c 32 /dev/urandom | base64")
    return CurvePair.of(secret)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadKeys(f"{path}: cannot be read: {error.strerror}") from error
