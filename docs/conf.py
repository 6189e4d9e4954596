"""Sphinx: `make docs` builds the documents into `site/`."""

import rarewords
from rarewords import wnlampro

project = "rarewords"
author = "the rarewords authors"
copyright = author
version = release = rarewords.__version__
REPOSITORY = "https://github.com/rarewords/rarewords"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_copybutton", "sphinxcontrib.typer"]
exclude_patterns = ["results"]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.strikethrough"]

html_theme = "furo"
html_title = f"rarewords {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {"source_repository": REPOSITORY, "source_branch": "main", "source_directory": "docs/"}
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
# Types that docstrings name by a short path, and whose home is no page.
nitpicky = False


def _reference(module: str, names: list[str]) -> str:
    """An autodoc directive for every public name, functions first."""
    home = __import__(module, fromlist=["*"])
    sections: dict[str, list[str]] = {"Functions": [], "Classes": [], "Settings": [], "Errors": []}
    for name in names:
        found = getattr(home, name)
        if isinstance(found, type) and issubclass(found, Exception):
            kind, directive = "Errors", "autoexception"
        elif isinstance(found, type):
            kind, directive = ("Settings" if name.endswith("Settings") else "Classes"), "autoclass"
        elif callable(found):
            kind, directive = "Functions", "autofunction"
        else:  # the version, a module
            continue
        members = "\n   :members:" if directive == "autoclass" and kind == "Classes" else ""
        lines = f"```{{eval-rst}}\n.. {directive}:: {module}.{name}{members}\n```"
        sections[kind].append(f"### {name}\n\n{lines}\n")
    return "\n".join(f"## {title}\n\n" + "\n".join(found) for title, found in sections.items() if found)


def _fill_in(app: object, page: str, source: list[str]) -> None:  # noqa: ARG001 - Sphinx passes it
    """The reference of the public names, made from the code whenever the documents are built."""
    if page == "reference/python":
        source[0] = source[0].replace("%% rarewords", _reference("rarewords", rarewords.__all__))
    if page == "reference/wnlampro":
        source[0] = source[0].replace("%% wnlampro", _reference("rarewords.wnlampro", wnlampro.__all__))


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _fill_in)  # type: ignore[attr-defined]
