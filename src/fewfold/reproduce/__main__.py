"""``python -m fewfold.reproduce``: write docs/reproduction.md and its figures anew."""

from fewfold.reproduce.page import main
from fewfold.system.location import project_root

main(project_root() / "docs")
