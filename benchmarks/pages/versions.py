"""data/versions.csv: source, license and checksums of every published file.

python benchmarks/pages/versions.py > data/versions.csv
"""

import csv
import io

from fewfold.datasets.registry import registry


def versions_csv() -> str:
    """Write source, license and checksums of every file as CSV, the text of data/versions.csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["dataset", "file", "source", "license", "bytes", "sha256", "content", "content_sha256"]
    )
    for entry in registry().values():
        for f in entry.files:
            place = [entry.name, f.path, f.sources[0].url, entry.license]
            writer.writerow([*place, f.size, f.sha256, f.kind, f.content_sha256])
    return out.getvalue()


if __name__ == "__main__":
    print(versions_csv(), end="")
