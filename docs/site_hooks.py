"""MkDocs hooks: pages that lie outside of docs/, the reference from the code, and formulas.

Pages are written for GitHub. The site adds what GitHub cannot show: the command line from typer,
the API from docstrings. Formulas become MathML, which browsers draw without any script.
"""

import html
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {  # file of the repository -> page of the site
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "config/README.md": "config-files.md",
    "data/README.md": "data-files.md",
    "CITATION.cff": "CITATION.cff",
}
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
CHART = re.compile(r"^```mermaid\nflowchart LR\n(.*?)^```$", re.M | re.S)
CHART_PLACE = re.compile(r'<div class="flowchart">(.*?)</div>', re.S)
CHART_STYLE = """<style>
svg.rules { font-size: 13px; max-width: 100%; height: auto }
svg .rule rect { fill: #eef4f9; stroke: #0072b2 }
svg .rule text { fill: #1b2530 }
svg .edge { fill: none; stroke: #8795a1; stroke-width: 1.3 }
svg .arrow { fill: #8795a1 }
</style>"""
FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.S)
PAPER = re.compile(r"\[([a-z]+-\d{4})\]")
RECORDS = ("notes/", "benchmarks.md", "reproduction.md", "changelog.md", "licenses.md")


def on_config(config):
    """List all notes and public names, so that a new one needs no entry."""
    sections = {title: pages for entry in config.nav for title, pages in entry.items()}
    for page in sorted((ROOT / "docs/notes").glob("*.md")):
        sections["Notes"].append(f"notes/{page.name}")
    api = next(entry for entry in sections["Reference"] if "Python API" in entry)
    api["Python API"] = ["api/index.md", *({name: f"api/{name}.md"} for name in public_names())]
    return config


def on_files(files, config):
    """Add the pages outside of docs/ and those made from the code."""
    for source, page in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        if page.endswith(".md"):
            text = relink(text, source, page)
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "cli.md", content=command_line()))
    for page, text in api().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point links that leave docs/ to the pages made of those files; guides are found first."""
    uri = page.file.src_uri
    if uri.startswith(RECORDS):
        page.meta.setdefault("search", {"boost": 0.2})
    markdown = CHART.sub(r'<div class="flowchart">\1</div>', markdown)
    return markdown if uri in OUTSIDE.values() else relink(markdown, f"docs/{uri}", uri)


def on_page_content(content, page, config, files):
    """Draw formulas and flowcharts; papers named in docstrings are links."""
    if page.file.src_uri.startswith("api/"):
        content = PAPER.sub(r'[<a href="../references.html">\1</a>]', content)
    return CHART_PLACE.sub(flowchart, FORMULA.sub(formula, content))


def relink(text, source, page):
    """Change links of a file of the repository to those of its page."""

    def change(match):
        target = match[2]
        if ":" in target:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = OUTSIDE.get(path, path.removeprefix("docs/"))
        return match[1] + posixpath.relpath(place, posixpath.dirname(page) or ".") + match[3]

    return LINK.sub(change, text)


def command_line():
    """Return the reference of all commands."""
    import click
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from fewfold.cli import app

    command = get_command(app)
    for each in command.commands.values():  # typer cuts the list's sentences at 45 characters
        each.short_help = " ".join(each.help.split("\n\n")[0].split())
    context = click.Context(command, info_name="fewfold")
    text = get_docs_for_click(obj=command, ctx=context, name="fewfold")
    return text.replace("# `fewfold`\n", "# Command line\n", 1)


def public_names():
    """Return {name: module} of what can be imported from ``fewfold``."""
    from fewfold import _PUBLIC

    return dict(sorted(_PUBLIC.items(), key=lambda item: item[0].lower()))


def api():
    """Return {page: text} of the public names; mkdocstrings fills them in from their docstrings."""
    import fewfold

    names = public_names()
    pages = {
        f"api/{name}.md": f"# {name}\n\n::: {module}.{name}\n" for name, module in names.items()
    }
    lines = [
        f"| [`{name}`]({name}.md) | {getattr(fewfold, name).__doc__.strip().splitlines()[0]} |"
        for name in names
    ]
    head = "# Python API\n\nThese names can be imported from `fewfold`.\n\n"
    lines = ["| name | what it does |", "| --- | --- |", *lines]
    pages["api/index.md"] = head + "\n".join(lines) + "\n"
    return pages


def flowchart(match):
    """Draw a flowchart of rules, as the report does; GitHub draws the block itself."""
    from fewfold.report.rulegraph import draw

    edges = []
    for line in html.unescape(match[1]).splitlines():
        groups = [[name.strip() for name in part.split("&")] for part in line.split("-->")]
        edges += [(a, b) for one, two in zip(groups, groups[1:]) for a in one for b in two]
    return CHART_STYLE + draw(edges, "Rules of the workflow, and how they depend on each other")


def formula(match):
    """Return MathML of a formula between \\( and \\) or \\[ and \\]."""
    from latex2mathml.converter import convert

    text = html.unescape(match[2]).strip()[2:-2]
    if match[1] == "span":
        return convert(text, display="inline")
    # A formula that is wider than the window scrolls by itself, not with the page.
    return f'<div style="overflow: auto hidden">{convert(text, display="block")}</div>'
