"""Errors and warnings that fewfold raises on purpose.

Each message says what was wrong, the value found, what is allowed and what to do.
"""


class FewfoldError(Exception):
    """Base of every error that fewfold raises on purpose."""


class InputError(FewfoldError, ValueError):
    """Data given by the user cannot be used as they are."""


class ConfigError(FewfoldError, ValueError):
    """A config is not valid, or its parts do not fit together."""


class ArtifactError(FewfoldError, OSError):
    """A stage file is missing, damaged, or of another stage or format version.

    ``damaged`` is the path of a file that is there but cannot be used; else None.
    """

    damaged = None


class DownloadError(FewfoldError, OSError):
    """A dataset's files could not be obtained, or are not what was expected."""


class RunFailed(FewfoldError, RuntimeError):
    """Snakemake ended with an error; the reason is in the message."""


class Stopped(RunFailed):
    """The user stopped a run (Ctrl-C, SIGTERM)."""


class ConvergenceError(FewfoldError, RuntimeError):
    """An iteration ended without reaching the accuracy asked for."""


class FewfoldWarning(UserWarning):
    """Base of fewfold's warnings: the result is valid, but should be checked."""


class DataWarning(FewfoldWarning):
    """Something in the data is unusual (duplicates, constant columns, ...)."""


class GraphWarning(FewfoldWarning):
    """Something in a graph is unusual (isolated points, several components, ...)."""


class LabelWarning(FewfoldWarning):
    """Something in the labels is unusual (a class seen once, unreachable points, ...)."""
