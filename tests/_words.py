"""Words that fewfold does not use in code, rules and configs; `make lint` runs this.

    python tests/_words.py

One word for one thing, as scikit-learn's documentation writes it: CONTRIBUTING.md.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("src", "scripts", "workflow", "config", "Snakefile", "Makefile", ".ci")
INSTEAD = {
    r"anew": "again",
    r"mend(s|ed)?": "fix",
    r"dearer": "more expensive",
    r"keepers": "administrators",
    r"flattery": "selection bias",
    r"told the truth": "oracle",
    r"surest": "most confident",
    r"commonest": "most frequent",
    r"thinner place": "less dense region",
    r"whenever one looks": "at any time",
    r"what (the |each )?candidates? sa(id|ys?)": "predictions of the candidates",
    r"as of `": "as in `",
    r"is told what happens": "called with progress messages",
    r"(is|are) no (folder|file|number)": "is not a folder",
    r"let (its|the) folder go": "release the folder",
    r"goes on": "resumes, continues",
    r"what does not matter": "invariance",
    r"likeliest": "most probable",
    r"(deserves?|worth) a look": "should be checked",
    r"ladder of (coarser )?graphs": "multigrid preconditioner",
    r"what no method can know": "the truth, an oracle",
    r"kept from the model": "held out",
    r"tells? (whether|which)": "return whether",
    r"speaks? for": "is evidence for, holds for",
    r"whole or not at all": "atomically",
    r"(un|re)?labell(ed|ing)": "labeled, labeling",
    r"neighbour\w*": "neighbor",
    r"normalis\w*": "normalize",
    r"colours?": "color",
    r"behaviour": "behavior",
    r"learnt": "learned",
    r"travell(ed|ing)": "traveled, traveling",
    r"(less|least) sure": "of lower (lowest) confidence",
    r"taken over": "imported",
    r"without end": "any number of",
    r"stands? on": "uses",
}
# Spellings that users' files may have, and titles of papers.
EXCEPT = (
    "src/fewfold/datasets/registry.yaml",
    "src/fewfold/datasets/synthetic.py",
    "src/fewfold/datasets/table/image_folders.py",
    "src/fewfold/datasets/table/marks.py",
    "src/fewfold/methods/parameters.py",  # old names of settings
)


def found_words():
    """Yield (place, word, what to write) of every word of the list."""
    listed = subprocess.check_output(["git", "ls-files", *ROOMS], cwd=ROOT, text=True)
    patterns = {
        re.compile(rf"(?<![A-Za-z]){word}(?![a-z])", re.I): w for word, w in INSTEAD.items()
    }
    for name in listed.splitlines():
        if name.startswith(EXCEPT):
            continue
        for number, line in enumerate((ROOT / name).read_text("utf-8", "replace").splitlines(), 1):
            for pattern, instead in patterns.items():
                for match in pattern.finditer(line):
                    yield f"{name}:{number}", match[0], instead


if __name__ == "__main__":
    found = list(found_words())
    for place, word, instead in found:
        print(f"{place}: {word!r}; write {instead}")
    sys.exit(bool(found))
