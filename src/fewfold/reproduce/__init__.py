"""The papers' tables with our numbers beside them: published, measured, and whether they agree."""
