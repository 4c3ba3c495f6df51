"""The interval of a labeling session, and the answers that a promise takes.

python docs/examples/promise.py promise.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from fewfold.session.sequences import log_evidence, wrong_bounds

ROWS, ALPHA = 10_000, 0.05
wrong = np.zeros(ROWS, bool)
wrong[:300] = True
np.random.default_rng(0).shuffle(wrong)  # the random order of the audit
audited = np.unique(np.geomspace(10, 1500, 40).astype(int))
bounds = np.array([wrong_bounds(ROWS, wrong[:n], ALPHA) for n in audited]) / ROWS * 100
print(f"after {audited[-1]} audited rows: {bounds[-1, 0]:.1f} to {bounds[-1, 1]:.1f} %")

promised = np.array([1, 2, 3, 5, 7, 10, 15, 20])
draws = np.arange(1, 1000)
needed = []
for percent in promised:
    evidence = log_evidence(ROWS, ROWS * percent // 100, draws, np.zeros_like(draws))
    needed.append(int(draws[np.argmax(evidence >= np.log(1 / ALPHA))]))

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
left.fill_between(audited, *bounds.T, color="#0072B2", alpha=0.3, label="95 % interval")
left.axhline(wrong.mean() * 100, color="#D55E00", linestyle="--", label="true error")
left.set(xscale="log", ylim=(0, 30), xlabel="audited rows", ylabel="error of all labels (%)")
left.minorticks_off()
left.set_xticks(some := (10, 30, 100, 300, 1000), [str(n) for n in some])
left.legend(frameon=False)
right.plot(promised, needed, marker="o", color="#0072B2")
for percent, answers in zip(promised, needed):
    right.annotate(f"{answers}", (percent, answers), (4, 4), textcoords="offset points")
right.set(xlabel="promised error (%)", ylabel="answers, none of them wrong")
right.set(xlim=(0, 22), ylim=(0, 400))
figure.savefig(sys.argv[1], dpi=100)
