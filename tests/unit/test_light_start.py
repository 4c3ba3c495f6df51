"""Placeholders of modules that a job does not use: nothing differs but the time."""

import subprocess
import sys
from pathlib import Path

import pytest

from fewfold.system.light_start import POSTPONED

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts").glob("*.py"))


def _run(code):
    """Run code in a new process after the light start; return what it printed."""
    code = f"import sys\nimport fewfold.system.light_start as light\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


_LOADED = "print([n for n in light.POSTPONED if type(sys.modules[n]) is not light.Postponed])"


def test_scipy_and_scikit_learn_are_imported_without_the_postponed_modules():
    code = "import scipy.sparse.linalg, scipy.special, sklearn.base, sklearn.svm, sklearn.ensemble"
    assert _run(f"{code}\n{_LOADED}") == "[]"


@pytest.mark.parametrize("module", POSTPONED)
def test_a_placeholder_becomes_the_module_when_something_of_it_is_used(module):
    code = f"""
import importlib
module = importlib.import_module({module!r})
names = module.__all__
parent, _, last = {module!r}.rpartition(".")
real = sys.modules[{module!r}]
print(type(real).__name__, real is getattr(sys.modules[parent], last), len(names) > 1)
print(all(getattr(module, name) is getattr(real, name) for name in names
          if name not in light.POSTPONED[{module!r}]))"""
    assert _run(code).split() == ["module", "True", "True", "True"]


def test_functions_taken_by_name_import_the_module_when_they_are_called():
    code = """
from scipy.stats import gmean, rankdata, spearmanr
before = type(sys.modules["scipy.stats"]).__name__
from scipy.stats import chi2
values = rankdata([3.0, 1.0]).tolist(), float(gmean([1.0, 4.0])), round(float(chi2(2).isf(0.5)), 3)
last = round(spearmanr([1, 2], [2, 1])[0])
print(before, *values, last, type(sys.modules["scipy.stats"]).__name__)"""
    assert _run(code) == "Postponed [2.0, 1.0] 2.0 1.386 -1 module"


@pytest.mark.parametrize(
    "statement",
    [
        "import scipy.stats.mstats",
        "from scipy.stats import t",
        "from scipy import stats; stats.norm",
    ],
)
def test_other_ways_to_import_it_give_the_module(statement):
    code = f"{statement}\nimport scipy.stats\nprint(scipy.stats.t.ppf(0.975, 3).round(3))"
    assert _run(code) == "3.182"


def test_a_look_at_all_modules_loads_nothing():
    code = """
import inspect, sklearn.base
for module in list(sys.modules.values()):
    getattr(module, "__warningregistry__", None), getattr(module, "__file__", None)
inspect.getmodule(sklearn.base.clone)"""
    assert _run(f"{code}\n{_LOADED}") == "[]"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_stage_begins_with_it(script):
    statements = script.read_text(encoding="utf-8").split('"""', 2)[2].strip().splitlines()
    assert statements[0].startswith("import fewfold.system.light_start")
