"""docs/config.md is what the schema and the records of the methods give."""

from config_reference import reference

from fewfold.config.schema import read_schema
from fewfold.system.location import project_root


def test_the_committed_page_is_what_the_schema_gives():
    root = project_root()
    assert (root / "docs/config.md").read_text(encoding="utf-8") == reference(read_schema(root)), (
        "docs/config.md is out of date: "
        "python benchmarks/pages/config_reference.py > docs/config.md"
    )
