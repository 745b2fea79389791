"""The manifest of an exported model: its description, and the checksum of each of its files."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sonorant.errors import SonorantError

__all__ = [
    "BEFORE_TRANSCRIBE",
    "ENSEMBLE",
    "LANGUAGE_MODEL",
    "MANIFEST",
    "BadExport",
    "Manifest",
    "checksums",
    "member_folder",
    "member_folders",
    "name_and_version",
    "read_manifest",
    "renew_checksums",
    "verify_files",
]

MANIFEST = "manifest.json"
LANGUAGE_MODEL = "language_model"  # the signature of one
ENSEMBLE = "ensemble"  # likewise
BEFORE_TRANSCRIBE = "exported before there was one; export again"
_MEMBERS = "members"  # folder of an ensemble's exports, 0, 1, …
_FEWEST = 2  # members


class BadExport(SonorantError):
    """An exported model that cannot be written or trusted: the message names the file and the fault."""

    exit_code = 65


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of an exported model.

    model, version: its name and number when it was exported; see `name_and_version`.
    sample_rate_hz: rate of the audio it takes.
    bins: size of one feature vector; vector_seconds: time from one vector to the next.
    state_shapes: shape of each state tensor of one stream.
    content_sha256: digest of weights, recipe and units; two exports with the same digest recognize alike.
    step: that of the newest checkpoint that it was exported from; None: unknown, as of versions of before.
    before_tuning_sha256: that of the version whose copy this is but for its decoding; empty: of none.
    files: SHA-256 of every other file, by path below the folder.
    search: name of the search that reads the model's outputs (`sonorant.decoding`).
    signature: "stream", vector after vector, or "whole", an utterance at a time; "ensemble": that of each member, the
    first of which bins, vector_seconds and state_shapes are of; "language_model": it takes no audio.
    without_transcribe: why the SavedModel has no signature `transcribe` (`sonorant.export.transcribe`); empty: it has.
    """

    model: str
    version: int
    sample_rate_hz: int
    bins: int
    vector_seconds: float
    state_shapes: tuple[tuple[int, ...], ...]
    content_sha256: str
    files: dict[str, str]
    search: str = "ctc"  # manifests without it are older than other searches
    signature: str = "stream"  # likewise
    without_transcribe: str = BEFORE_TRANSCRIBE
    before_tuning_sha256: str = ""
    step: int | None = None

    @property
    def exported_sha256(self) -> str:
        """The digest that the model had when it was exported, whatever its decoding became."""
        return self.before_tuning_sha256 or self.content_sha256

    def to_json(self) -> str:
        """Return the manifest as text for `manifest.json`."""
        return json.dumps(asdict(self), indent=2) + "\n"


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below `folder` but the manifest, by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return {path.relative_to(folder).as_posix(): _sha256(path) for path in files}


def read_manifest(folder: Path) -> Manifest:
    """Read `folder/manifest.json`; raises BadExport."""
    path = folder / MANIFEST
    try:
        fields = json.loads(path.read_bytes())
        shapes = tuple(tuple(shape) for shape in fields.pop("state_shapes"))
        if not isinstance(files := fields["files"], dict) or not all(isinstance(one, str) for one in files.values()):
            raise ValueError(f"files={files!r}, expected checksums by name")
        return Manifest(**fields, state_shapes=shapes)
    except OSError as error:
        raise BadExport(f"{path}: {error.strerror}; expected an exported model, made by `sonorant export`") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadExport(f"{path}: not a manifest ({error}); export the model again") from error


def renew_checksums(folder: Path) -> None:
    """Write the manifest of a draft anew, with the files that it has now."""
    manifest = replace(read_manifest(folder), files=checksums(folder))
    (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


def name_and_version(folder: Path, manifest: Manifest) -> tuple[str, int]:
    """Return name and version by the folder `<name>/<version>`, so that a copy is what its folder says.

    A folder without a number, such as a draft, has those of its manifest.
    """
    folder = folder.absolute()  # links are not followed: the link's name counts
    if folder.name.isdecimal():
        return folder.parent.name, int(folder.name)
    return manifest.model, manifest.version


def verify_files(folder: Path, manifest: Manifest) -> None:
    """Raise BadExport unless `folder` holds exactly the files that `manifest` lists, unchanged."""
    found = checksums(folder)
    for name, expected in manifest.files.items():
        if name not in found:
            raise BadExport(f"{folder / name}: missing; export the model again")
        if found[name] != expected:
            raise BadExport(f"{folder / name}: SHA-256 {found[name]}, expected {expected}; export the model again")
    if extra := sorted(found.keys() - manifest.files.keys()):
        raise BadExport(f"{folder / extra[0]}: not in {MANIFEST}; remove it, or export the model again")


def member_folder(folder: Path, number: int) -> Path:
    """Return the folder of an ensemble's member 0, 1, …."""
    return folder / _MEMBERS / str(number)


def member_folders(folder: Path) -> list[Path]:
    """Return the folders of an ensemble's members, in their order; raises BadExport unless all are there."""
    found = {path.name for path in (folder / _MEMBERS).glob("*")}
    if len(found) < _FEWEST or found != {str(number) for number in range(len(found))}:
        raise BadExport(
            f"{folder / _MEMBERS}: found {', '.join(sorted(found)) or 'nothing'}; expected the members 0, 1, … of an "
            "ensemble: export it again"
        )
    return [member_folder(folder, number) for number in range(len(found))]


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
