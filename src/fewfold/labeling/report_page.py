"""The report of a labeling run: one page that opens offline, results first."""

from __future__ import annotations

from functools import cache

import numpy as np

from fewfold.labeling.finishing import Finished, Material, original_numbers
from fewfold.labeling.leave_out import solve_responses
from fewfold.labeling.warnings_ import OFF
from fewfold.labeling.words import loss_words, method_words, model_words, summary_lines
from fewfold.methods.members import all_members
from fewfold.report import findings, maps, page, samples, tables
from fewfold.report.content import DatasetView, PredictionView
from fewfold.report.map_positions import add_rows

DOUBTFUL = 40
DOUBT = 0.5  # rows of lower confidence are hollow in the second plot
SHEET_BYTES = 1_600_000
HISTOGRAMS = (620, 350)  # widths, for wide windows and narrow ones
SHOWN = 10_000  # rows in the map, of which 2000 have a place of their own


@cache
def _environment():
    from jinja2 import ChoiceLoader, PackageLoader

    own = PackageLoader("fewfold.labeling", "templates")
    base = page._environment()
    environment = base.overlay(loader=ChoiceLoader([own, base.loader]))
    environment.filters = dict(base.filters)
    # A number and its % stay on one line.
    environment.filters["loss"] = lambda *a: loss_words(*a).replace(" ", "\N{NO-BREAK SPACE}")
    environment.globals = dict(base.globals)
    return environment


def rows_to_show(material: Material, drifted) -> np.ndarray:
    """Rows to add to the picture: more of all, some that were labeled, and those off the rest."""
    others = np.setdiff1d(np.arange(material.features.X.shape[0]), material.shown)
    more = np.random.default_rng(0).permutation(others)[: max(0, SHOWN - len(material.shown))]
    labeled = np.flatnonzero(material.answer["given"])
    some = [rows[:: max(1, len(rows) // 500)] for rows in (labeled, np.asarray(drifted, int))]
    return np.unique(np.concatenate([more, *some]))


def make_view(material: Material, drifted=()) -> DatasetView:
    """The map of the data: given labels on the left, predicted labels on the right."""
    answer, task = material.answer, material.notes["task"]
    data, given = material.features, material.answer["given"].astype(bool)
    labeled = np.flatnonzero(given)
    wanted = rows_to_show(material, drifted)
    shown, positions = add_rows(data.X, material.shown, material.positions, wanted)
    shape = data.image_shape
    pixels = data.images if data.images is not None else data.X
    if material.thumbnails is not None:
        pixels = material.thumbnails.reshape(len(material.thumbnails), -1)
        shape = material.thumbnails.shape[1:]
    is_image = shape is not None and len(shape) == 2 and pixels.shape[1] == int(np.prod(shape))
    sure = answer.get("confidence")

    def prediction(labels):
        return PredictionView(len(labeled), 0, labels, sure, labeled)

    predictions = {"all labels": prediction(answer["label"])}
    if task != "regression":
        doubtful = np.where(given | (sure >= DOUBT), answer["label"], -1)
        predictions[f"confidence of {100 * DOUBT:.0f} % or more"] = prediction(doubtful)
    if len(drifted):
        off = np.isin(np.arange(len(given)), drifted)
        predictions["rows far from all labeled ones"] = prediction(
            np.where(off, answer["label"], -1)
        )
    return DatasetView(
        n_rows=data.X.shape[0],
        n_features=data.X.shape[1],
        task=task,
        classes=material.classes,
        image_shape=shape if is_image else None,
        y=None if task == "clustering" else material.truth.y,
        map2d=positions,
        shown=shown,
        predictions=predictions,
        images=(lambda rows: pixels[rows].reshape(len(rows), *shape)) if is_image else None,
        values=lambda rows: data.X[rows].toarray() if hasattr(data.X, "toarray") else data.X[rows],
        feature_names=data.feature_names,
    )


def class_rows(material: Material) -> list[dict]:
    """One row per class: given labels, predicted rows, mean confidence, expected errors."""
    answer, given = material.answer, material.answer["given"].astype(bool)
    rows = []
    for code, name in enumerate(material.classes):
        mine = answer["label"] == code
        new = mine & ~given
        sure = float(np.mean(answer["confidence"][new])) if new.any() else None
        rows.append(
            {
                "name": name,
                "code": code,
                "given": int((mine & given).sum()),
                "found": int(new.sum()),
                "share": float(mine.mean()),
                "sure": sure,
                "wrong": None if sure is None else float((1 - answer["confidence"][new]).sum()),
            }
        )
    return rows


def describe_rows(material: Material, view: DatasetView, rows, reasons=None) -> list[dict]:
    """Words and pictures for single rows."""
    prediction = view.predictions["all labels"]
    second = material.answer.get("second")
    missing, found = np.full(len(material.answer["label"]), np.nan), []
    for sample in samples.describe(view, prediction, np.asarray(rows)):
        other = "" if second is None or second[sample.row] < 0 else view.classes[second[sample.row]]
        facts = row_facts(material, sample.row) if view.images is None else ""
        name = material.name_of(sample.row)
        reason = (reasons or {}).get(int(sample.row), "")
        ends = [float(material.answer.get(end, missing)[sample.row]) for end in ("low", "high")]
        words = " to ".join(map(findings.plain, ends)) if np.isfinite(ends).all() else ""
        found.append({"sample": sample, "name": name, "second": other, "facts": facts,
                      "reason": reason, "range": words})  # fmt: skip
    return found


def reasons_for(material: Material, rows, count: int = 3) -> dict[int, str]:
    """Name the given labels with the largest exact shares in each row's prediction.

    Diffusion over the graph is linear in the labels, so that a row's score for its class is a sum
    over them. The responses are symmetric: one solve per row shown serves all labels.
    """
    task, y = material.notes["task"], material.truth.y
    if task != "classification" or not len(rows):
        return {}
    labeled = np.flatnonzero(y >= 0)
    codes, place = y[labeled].astype(np.int64), material.graph.component
    if (np.bincount(place[labeled], minlength=place.max() + 1) == 0)[place[rows]].any():
        rows = rows[np.isin(place[rows], place[labeled])]
    responses = solve_responses(material.graph.W, rows)
    found = {}
    for i, row in enumerate(rows):
        inside = place[labeled] == place[row]
        is_own = (codes == material.answer["label"][row]).astype(float)
        source = np.where(inside, is_own - is_own[inside].mean(), 0.0)
        shares = responses.G[labeled, i] * source
        best = np.argsort(-shares, kind="stable")[:count]
        best = best[(shares[best] > 0) & (codes[best] == material.answer["label"][row])]
        found[int(row)] = ", ".join(material.name_of(int(labeled[j])) for j in best)
    return found


def held_out(material: Material, most: int = 30) -> samples.Confusion | None:
    """Confusion matrix of the held-out labels."""
    table = material.notes["comparison"].get("confusion")
    if table is None or len(table) > most:
        return None
    return samples.Confusion(np.array(table), material.classes, material.classes)


def telling_columns(material: Material, rows, count: int = 6) -> list[dict]:
    """Pack the columns that differ most between the labels, for the map's tooltips.

    Numbers are in the units of the file; a category is the one whose column of 0 and 1 is set.
    """
    X, names = material.features.X, material.features.feature_names
    if names is None or hasattr(X, "toarray"):
        return []
    numbers, found, X = original_numbers(material, rows), {}, X[rows]
    for j, score in enumerate(_explained(X, material.answer["label"][rows])):
        name, is_one_of, category = str(names[j]).partition("=")
        if names[j] in numbers:
            found[names[j]] = (score, None)
        elif is_one_of:
            before, members = found.get(name, (0.0, []))
            found[name] = (max(before, score), [*(members or []), (j, category)])
    packed = []
    for name, (_, members) in sorted(found.items(), key=lambda item: -item[1][0])[:count]:
        if members is None:
            packed.append({"name": name, "values": maps.pack(numbers[name], "f4")})
            continue
        places = [j for j, _ in members]
        codes = np.where((X[:, places] > 0).any(axis=1), X[:, places].argmax(axis=1), -1)
        words = [category for _, category in members]
        packed.append({"name": name, "words": words, "values": maps.pack(codes, "f4")})
    return packed


def _explained(X, labels) -> np.ndarray:
    """Share of each column's variance between the labels (of a number: its square correlation)."""
    X = X - X.mean(axis=0)
    total = np.maximum((X**2).sum(axis=0), 1e-12)
    if labels.dtype.kind == "f":
        y = labels - labels.mean()
        return (y @ X) ** 2 / total / max(float(y @ y), 1e-12)
    codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, codes, X)
    return (sums**2 / sizes[:, None]).sum(axis=0) / total


def row_facts(material: Material, row: int, count: int = 5) -> str:
    """The most unusual values of a row, as they are in the file."""
    X, names = material.features.X, material.features.feature_names
    values = X[[row]].toarray()[0] if hasattr(X, "toarray") else np.asarray(X[row])
    numbers = original_numbers(material, [row])
    if not numbers or names is None:
        return samples.top_values(values, names, count)
    words = []
    for j in np.argsort(-np.abs(values), kind="stable"):
        if names[j] in numbers:
            if np.isfinite(number := float(numbers[names[j]][0])):
                words.append(f"{names[j]} = {cell_words(number)}")
        elif str(names[j]).removesuffix(" missing") in numbers and values[j] > 0:
            words.append(f"{str(names[j]).removesuffix(' missing')} empty")
        elif "=" in str(names[j]) and values[j] > 0:
            words.append(str(names[j]).replace("=", " = ", 1))
        if len(words) == count:
            break
    return ", ".join(words)


def cell_words(value: float) -> str:
    """Format a number with four digits, large ones in full.

    >>> cell_words(0.123456), cell_words(1234567.8), cell_words(13.0)
    ('0.1235', '1234568', '13')
    """
    return f"{value:.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def explained_candidates(task: str) -> dict[str, str]:
    """Describe each candidate and the data it suits."""
    return {
        name: f"{member.method.about()} {candidate.why}"
        for name, (member, candidate) in all_members(task, declared=True).items()
    }


def doubtful_rows(material: Material) -> np.ndarray:
    """The predicted rows of lowest confidence."""
    if "confidence" not in material.answer:
        return np.empty(0, dtype=np.int64)
    sure = np.where(material.answer["given"].astype(bool), np.inf, material.answer["confidence"])
    order = np.argsort(sure, kind="stable")[:DOUBTFUL]
    return order[np.isfinite(sure[order])]


def render_answer(material: Material, finished: Finished, *, config: dict) -> str:
    """Write the page; the same inputs give the same page.

    Parameters
    ----------
    material : Material
    finished : Finished
    config : dict
        Shown under the settings.
    """
    listed = np.concatenate([doubtful_rows(material), finished.advised])
    reasons = reasons_for(material, np.unique(listed))
    drifted = [r for w in finished.warnings if w["kind"] == OFF for r in w["rows"]]
    view = make_view(material, drifted)
    payload = maps.payload(view, "all labels", SHEET_BYTES)
    payload["rows"] = maps.pack(view.shown + 1, "u4")  # rows are shown counted from 1
    payload["columns"] = [] if view.images else telling_columns(material, view.shown)
    if material.ids is not None:
        payload["names"] = [str(material.ids[row]) for row in view.shown]
    task = material.notes["task"]
    return _environment().get_template("label.html.j2").render(
        title=f"Labels for {material.table['file']}",
        lines=summary_lines(finished.summary),
        summary=finished.summary,
        comparison=finished.summary["comparison"],
        task=task,
        sentences=material.table["sentences"],
        class_rows=class_rows(material) if material.classes else [],
        doubtful=describe_rows(material, view, doubtful_rows(material), reasons),
        advised=describe_rows(material, view, finished.advised, reasons),
        warnings=finished.warnings,
        calibration=material.notes["calibration_error"],
        method=method_words(finished.summary["comparison"]),
        confusion=held_out(material),
        about=explained_candidates(task),
        weights={m["name"]: m["weight"] for m in finished.summary["comparison"]["members"]},
        histograms=[page._markup(histogram(material, w)) for w in HISTOGRAMS]
        if task != "regression"
        else [],
        settings=tables.settings_text(config),
        model=model_words(finished.summary) if material.model_bytes else "",
        map=payload,
        view=view,
        maps={"map": payload},
        with_images=view.images is not None,
    )  # fmt: skip


def histogram(material: Material, width: int, height: int = 150) -> str:
    """Histogram of confidences, as SVG."""
    given = material.answer["given"].astype(bool)
    sure = material.answer["confidence"][~given]
    counts, edges = np.histogram(np.clip(sure, 0, 1), bins=20, range=(0, 1))
    tallest, step = max(int(counts.max()), 1), (width - 20) / 20
    bars = []
    for k, count in enumerate(counts):
        h = (height - 42) * count / tallest
        bars.append(
            f'<rect x="{10 + k * step:.1f}" y="{height - 25 - h:.1f}" width="{step - 2:.1f}" '
            f'height="{h:.1f}" fill="#0072b2"><title>{100 * edges[k]:.0f} to '
            f"{100 * edges[k + 1]:.0f} %: {count} rows</title></rect>"
        )
    peak = int(counts.argmax())
    x, side = (10 + peak * step, "start") if peak < 10 else (8 + (peak + 1) * step, "end")
    highest = (
        f'<text x="{x:.1f}" y="11" text-anchor="{side}" font-size="12" fill="#51606e">'
        f"{findings.counted(tallest, 'row')}</text>"
    )
    ends = {0: "start", 1: "end"}
    ticks = [
        f'<text x="{10 + share * (width - 20):.0f}" y="{height - 8}" '
        f'text-anchor="{ends.get(share, "middle")}" '
        f'font-size="12" fill="#51606e">{100 * share:.0f} %</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    label = f"Confidence of {len(sure)} labels; the fullest of 20 bars holds {tallest} rows."
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}" '
        f'style="max-width:100%;height:auto">{"".join([*bars, highest, *ticks])}</svg>'
    )
