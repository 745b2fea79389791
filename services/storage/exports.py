"""Exported models in a store: a version's manifest names its files and is written last; labels are beside them."""

import re
from pathlib import Path

from services.storage.objects import ObjectStore
from sonorant.atomic import atomic_folder, atomic_write
from sonorant.export.manifest import MANIFEST, BadExport, read_manifest, verify_files
from sonorant.serving.labels import LABELS

__all__ = ["pull_exports", "push_exports"]

_LABELS = re.compile(rf"exports/(?P<model>[^/.][^/]*)/{re.escape(LABELS)}")
_VERSION = re.compile(rf"exports/(?P<model>[^/]+)/(?P<version>\d+)/{re.escape(MANIFEST)}")


def pull_exports(store: ObjectStore, exports: Path) -> None:
    """Pull complete versions that are not in `exports`, each atomically; local versions stay. Pull labels of versions.

    Labels follow those of the store, and stay when these are removed. Raises BadExport if a version does not match its
    manifest, when all others have been pulled.
    """
    faults: list[BadExport] = []
    for name in store.names("exports"):
        if (found := _VERSION.fullmatch(name)) and not found["model"].startswith("."):
            folder = exports / found["model"] / found["version"]
            if not (folder / MANIFEST).exists():
                try:
                    _pull(store, name.removesuffix(f"/{MANIFEST}"), folder)
                except BadExport as error:
                    faults.append(error)
        elif (found := _LABELS.fullmatch(name)) and (content := store.read(name)) is not None:
            labels = exports / found["model"] / LABELS
            if not labels.exists() or labels.read_bytes() != content:
                atomic_write(labels, content)
    if faults:
        raise faults[0]


def _pull(store: ObjectStore, name: str, folder: Path) -> None:
    with atomic_folder(folder) as draft:
        store.download(f"{name}/{MANIFEST}", draft / MANIFEST)
        manifest = read_manifest(draft)
        for file in manifest.files:
            if Path(file).is_absolute() or ".." in Path(file).parts:
                raise BadExport(f"{store.url}/{name}/{MANIFEST}: names {file!r}, which is outside of it")
            store.download(f"{name}/{file}", draft / file)
        verify_files(draft, manifest)


def push_exports(store: ObjectStore, exports: Path) -> None:
    """Push the versions below `exports` that the store lacks, or has incomplete."""
    whole = {name for name in store.names("exports") if _VERSION.fullmatch(name)}
    for path in sorted(exports.glob(f"[!.]*/*/{MANIFEST}")):
        name = f"exports/{path.relative_to(exports).as_posix()}"
        if _VERSION.fullmatch(name) and name not in whole:
            for file in read_manifest(path.parent).files:
                store.upload(path.parent / file, f"{name.removesuffix(MANIFEST)}{file}")
            store.upload(path, name)
