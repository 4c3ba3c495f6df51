"""The stages of the workflow: where their files are."""
