import asyncio
import re
import tomllib

import httpx2 as httpx
import pytest
from rigs.pages import ROOT
from starlette.applications import Starlette

from services.recognizer.transports.http_page import page_routes

WEB = ROOT / "services/recognizer/web"
APP = Starlette(routes=page_routes())


def answer(path, method="GET", **headers):
    async def run():
        transport = httpx.ASGITransport(app=APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://recognizer", verify=False) as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(run())


def policy(path):
    directives = answer(path).headers["content-security-policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


def test_the_page_is_at_the_root():
    page = answer("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.content == (WEB / "index.html").read_bytes()
    assert answer("/", "HEAD").content == b""


@pytest.mark.parametrize("file", sorted(WEB.iterdir()), ids=lambda path: path.name)
def test_a_file_is_served_by_its_type_and_names_only_files_that_are(file):
    found = answer(f"/web/{file.name}")
    assert found.content == file.read_bytes()
    assert found.headers["content-type"].split("/")[1].split(";")[0] in ("html", "css", "javascript", "svg+xml")
    named = re.findall(r'(?:href|src)="web/([^"]+)"|from "\./([^"]+)"|URL\("(\w+\.js)"', found.text)
    assert {name for names in named for name in names if name} <= {path.name for path in WEB.iterdir()}
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|//cdn", found.text)


@pytest.mark.parametrize("path", ["/", "/web/app.js"])
def test_scripts_and_connections_are_of_this_server_alone(path):
    found = policy(path)
    assert found.pop("default-src") == "'none'"
    assert set(found.values()) == {"'self'", "'none'"}
    assert {"base-uri", "form-action", "frame-ancestors"} <= found.keys()  # default-src does not cover them
    assert answer(path).headers["x-content-type-options"] == "nosniff"


def test_what_a_browser_has_already_is_not_sent_again():
    first, style = answer("/"), answer("/web/style.css")
    assert first.headers["cache-control"] == "no-cache"
    again = answer("/", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert answer("/", **{"If-None-Match": style.headers["etag"]}).status_code == 200


@pytest.mark.parametrize("path", ["/web/none.js", "/web/", "/web/..%2f__init__.py", "/web/../__init__.py", "/none"])
def test_nothing_else_is_served(path):
    assert answer(path).status_code == 404


def test_the_package_includes_the_files():
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "web/*" in setuptools["package-data"]["services.recognizer"]
