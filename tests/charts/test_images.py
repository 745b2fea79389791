"""Whether the images that are built are those that the chart asks for."""

import os
import re
import subprocess

from rigs.helm import ROOT, container, digits_values, pods

from sonorant import __version__


def built(prefix, **environment):
    """Return the names that docker/build gives, with a builder that does nothing."""
    inherited = {name: value for name, value in os.environ.items() if name != "TAG"}
    command, settings = [ROOT / "docker" / "build", prefix], inherited | {"BUILDER": "echo"} | environment
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return set(re.findall(r"--tag (\S+)", done.stdout))


def asked_for(manifests):
    return {container(manifests, name)["image"] for name in pods(manifests)}


def test_what_is_built_by_default_is_what_is_asked_for_by_default(manifests):
    assert built("localhost/sonorant") == asked_for(manifests)
    assert {name.partition(":")[2] for name in asked_for(manifests)} == {__version__}


def test_without_a_prefix_it_says_how_it_is_called():
    done = subprocess.run([ROOT / "docker" / "build"], capture_output=True, text=True, check=False)
    assert done.returncode
    assert done.stderr.endswith("usage: docker/build PREFIX [TARGET...]\n")


def test_another_registry_and_tag_are_named_alike_on_both_sides(helm):
    image = {"prefix": "registry.example/sonorant", "tag": "1"}
    assert built(image["prefix"], TAG="1") == asked_for(helm.render(digits_values(image=image)))


def test_what_the_cluster_page_builds_is_pushed_with_the_program_that_built_it():
    page = (ROOT / "docs/cluster.md").read_text()
    prefix, tag = re.search(r"make images PUSH=1 IMAGES=(\S+) TAG=(\S+)", page).groups()
    command, settings = [ROOT / "docker" / "build", prefix], os.environ | {"BUILDER": "echo", "PUSH": "1", "TAG": tag}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    assert set(re.findall(r"^push (\S+)$", done.stdout, re.MULTILINE)) == built(prefix, TAG=tag)


def test_the_default_base_is_one_version_of_python_on_the_release_of_debian_that_has_it():
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text()
    assert re.search(r"^ARG BASE=docker\.io/library/python:3\.11\.\d+-slim-bookworm$", dockerfile, re.MULTILINE)
