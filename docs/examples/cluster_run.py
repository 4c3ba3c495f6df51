"""Run a comparison as jobs, here or on a cluster, and see what each stage took.

python docs/examples/cluster_run.py cluster_run.png
python docs/examples/cluster_run.py cluster_run.png slurm
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

CONFIG = """
run:
  datasets: [digits]
  methods: [diffusion, eigenbasis, knn]
  labels: [20, 100]
  trials: 3
"""

with tempfile.TemporaryDirectory() as folder:
    config = Path(folder) / "compare.yaml"
    config.write_text(CONFIG)
    where = ["--profile", *sys.argv[2:]] if sys.argv[2:] else ["--cores", "2"]
    command = [str(Path(sys.executable).parent / "fewfold"), "run", *where]
    subprocess.run([*command, "--configfile", config, "--out", f"{folder}/run"], check=True)

    metrics = pd.read_csv(f"{folder}/run/results/metrics.csv")
    costs = []
    for file in Path(folder, "run/logs").rglob("*.cost.tsv"):
        costs.append(pd.read_csv(file, sep="\t").assign(stage=file.name.removesuffix(".cost.tsv")))

print(metrics.pivot_table("value", "method", "n_labeled").round(3))
seconds = pd.concat(costs).groupby("stage")["cpu_s"].sum().sort_values()
figure, axes = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
axes.barh(seconds.index, seconds, color="#0072B2")
axes.set(xlabel="CPU time (s)", title="What each stage took")
figure.savefig(sys.argv[1], dpi=100)
