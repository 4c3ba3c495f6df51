"""The papers' tables with our numbers beside them: published, measured, and what came of it."""
