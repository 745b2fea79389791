"""Hold images in buildah's storage to what is promised of them: `image_limits.py BASE STAGE OTHER…`. It needs root."""

import json
import subprocess
import sys
from pathlib import Path

STAGE_ADDS = 250_000_000  # bytes, unpacked
LABELS = {f"org.opencontainers.image.{name}" for name in ("title", "description", "version", "revision")}
PACKAGES = "opt/sonorant/venv/lib/*/site-packages"


def buildah(*arguments):
    return subprocess.run(["buildah", *arguments], check=True, capture_output=True, text=True).stdout


def inspect(image):
    """Return the image's configuration and its bytes, unpacked."""
    found = json.loads(buildah("inspect", "--type", "image", image))
    size = sum(layer["size"] for layer in json.loads(found["Manifest"])["layers"])
    return found["OCIv1"]["config"], size


def paths(image, pattern):
    """Return what matches below the image's root."""
    container = buildah("from", "--pull-never", image).strip()
    try:
        root = Path(buildah("mount", container).strip())
        return [str(path.relative_to(root)) for path in root.glob(pattern)]
    finally:
        buildah("rm", container)


def faults(base, stage, others):
    added = inspect(stage)[1] - inspect(base)[1]
    if added > STAGE_ADDS:
        yield f"{stage}: adds {added / 1e6:.1f} MB to {base}; {STAGE_ADDS / 1e6:.0f} MB are allowed"
    if tensorflow := paths(stage, f"{PACKAGES}/tensorflow*"):
        yield f"{stage}: has TensorFlow, which a stage is to do without: {', '.join(tensorflow)}"
    for image in (stage, *others):
        configuration = inspect(image)[0]
        if lacks := LABELS - set(configuration.get("Labels") or {}):
            yield f"{image}: has no label {', '.join(sorted(lacks))}"
        user = configuration.get("User", "")
        number = user.split(":")[0]
        if not number.isdigit() or int(number) == 0:
            yield f"{image}: runs as user {user or 'root'!r}; a number is asked for, and not 0"
        if paths(image, PACKAGES) and not paths(image, f"{PACKAGES}/structlog/__pycache__/*.pyc"):
            yield f"{image}: has no bytecode of its packages, so each pod compiles them when it starts"


if __name__ == "__main__":
    base, stage, *others = sys.argv[1:]
    if found := list(faults(base, stage, others)):
        sys.exit("\n".join(found))
