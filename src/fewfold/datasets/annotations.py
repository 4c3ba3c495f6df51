"""Exports of labeling tools (Label Studio, Prodigy, Argilla) as records with one label each."""

from __future__ import annotations

from fewfold.datasets.annotators import combine_annotators

TARGET = "label"


def from_tool(records: list) -> tuple[list, list[str]] | None:
    """Return the records of a tool's export as plain rows, and what to say; None for others.

    Several people's labels of a row are joined (`fewfold.datasets.annotators`).

    Parameters
    ----------
    records : list of dict
        As read from JSON or JSON lines.
    """
    for name, is_one, read in _TOOLS:
        if all(is_one(record) for record in records):
            rows, votes = zip(*(read(record) for record in records))
            return _joined(name, list(rows), list(votes))
    return None


def _joined(tool, rows, votes):
    people = sorted({person for vote in votes for person in vote})
    sentences = [f"An export of {tool}; labels are in the column {TARGET!r}."]
    if len(people) > 1:
        given = {person: [vote.get(person, "") for vote in votes] for person in people}
        found = combine_annotators(given)
        labels = found.labels.tolist()
        sentences += found.sentences()
    else:
        labels = [next(iter(vote.values()), "") for vote in votes]
    return [{**row, TARGET: label or None} for row, label in zip(rows, labels)], sentences


def _is_label_studio(record):
    return isinstance(record.get("data"), dict) and (
        isinstance(record.get("annotations"), list) or isinstance(record.get("predictions"), list)
    )


def _read_label_studio(record):
    votes = {}
    for annotation in record.get("annotations") or ():
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        for result in annotation.get("result") or ():
            choices = (result.get("value") or {}).get("choices") if isinstance(result, dict) else 0
            if choices:
                by = annotation.get("completed_by", "someone")
                by = by.get("email") or by.get("id") if isinstance(by, dict) else by
                votes[f"annotator {by}"] = str(choices[0])
                break
    return dict(record["data"]), votes


def _is_prodigy(record):
    return isinstance(record.get("accept"), list) and isinstance(record.get("options"), list)


def _read_prodigy(record):
    votes = {}
    if record.get("answer") == "accept" and record["accept"]:
        person = str(record.get("_annotator_id") or record.get("_session_id") or "someone")
        votes[person] = str(record["accept"][0])
    keep = ("text", "image", "html")
    row = {k: v for k, v in record.items() if k in keep}
    meta = record.get("meta") if isinstance(record.get("meta"), dict) else {}
    return row | {k: v for k, v in meta.items() if k != "score"}, votes


def _is_argilla(record):
    return isinstance(record.get("fields"), dict) and "responses" in record


def _read_argilla(record):
    responses, votes = record["responses"] or {}, {}
    if isinstance(responses, dict):  # {question: [{"value": ..., "user_id": ...}]}
        responses = [one for some in responses.values() for one in some or ()]
    for response in responses:
        if isinstance(response, dict) and response.get("status", "submitted") == "submitted":
            value = response.get("value")
            value = value.get("value") if isinstance(value, dict) else value
            if value not in (None, ""):
                votes[str(response.get("user_id", "someone"))] = str(value)
    return dict(record["fields"]), votes


_TOOLS = (
    ("Label Studio", _is_label_studio, _read_label_studio),
    ("Prodigy", _is_prodigy, _read_prodigy),
    ("Argilla", _is_argilla, _read_argilla),
)
