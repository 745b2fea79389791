"""Pages of the site that are not in docs/: those of the root, and one for each part of the library."""

import ast
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).parents[1]
_OF_ROOT = {"index.md": "README.md"} | {
    name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff")
}
_NOT_LIBRARY = {"__init__", "cli", "v1"}  # the command line has its --help, and the protos their comments


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for name, source in _OF_ROOT.items():
        files.append(File.generated(config, name, content=(_ROOT / source).read_text()))
    lines = ["# Library", ""]
    for name, promise in _parts():
        lines.append(f"- [`{name}`](api/{name}.md): {promise}")
        page = File.generated(config, f"api/{name}.md", content=f"# {name}\n\n::: {name}\n")
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    files.append(File.generated(config, "api.md", content="\n".join(lines)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links that hold in the tree hold in the site, where the root's pages and those of docs/ are side by side."""
    return markdown.replace("](docs/", "](").replace("](../", "](")


def _parts() -> Iterator[tuple[str, str]]:
    """Yield name and first line of each package and module right below `sonorant`; they are parsed, not imported."""
    folder = _ROOT / "sonorant"
    files = {file.parent.name: file for file in folder.glob("*/__init__.py")}
    files |= {file.stem: file for file in folder.glob("*.py")}
    for name in sorted(files.keys() - _NOT_LIBRARY):
        docstring = ast.get_docstring(ast.parse(files[name].read_text())) or ""
        yield f"sonorant.{name}", docstring.partition("\n")[0]
