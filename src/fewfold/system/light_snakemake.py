"""Start Snakemake as on a computer without pandas, polars and requests.

Snakemake can do without them: it imports them to see whether a job's parameters are data frames
and whether a file is on the web. In the runs of `fewfold label` neither occurs, and importing them
is a quarter of Snakemake's own time. Snakemake's plugins may need them, and it imports all that
are installed: then nothing is left out.

    python -m fewfold.system.light_snakemake ...    # instead of python -m snakemake ...
"""

import pkgutil
import runpy
import sys

ABSENT = ("pandas", "polars", "requests")


def has_plugins() -> bool:
    """Return whether an executor or another plugin of Snakemake is installed."""
    names = (module.name for module in pkgutil.iter_modules())
    return any(name.startswith("snakemake_") and "_plugin_" in name for name in names)


if __name__ == "__main__":
    if not has_plugins():
        sys.modules.update(dict.fromkeys(ABSENT))  # what Python takes for a module that is missing
    # by name: of the dependency, never a text of a file
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
