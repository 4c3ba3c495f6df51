"""The page in a real browser: no errors, no requests, and pictures that answer."""

import pytest
from _report_content import HOSTILE, content, dataset

from _report_chromium import Page
from fewfold.report.page import render

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    views = {**content().datasets, "blobs": dataset(methods=("near", HOSTILE), name=HOSTILE)}
    path = tmp_path_factory.mktemp("report") / "index.html"
    path.write_text(render(content(datasets=views)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def desktop(address):
    with Page(address) as page:
        yield page


def quiet(page, address):
    assert page.errors == [] and page.messages == []
    assert [url for url in page.requests if not url.startswith("data:")] == [address]


def spot(page, index, side="truth"):
    """Where on the screen the first map's point of this index is, and the map's scale."""
    return page.run(
        f"""(() => {{
          const box = document.querySelector('[data-map]');
          box.scrollIntoView({{block: 'center', behavior: 'instant'}});
          const canvas = box.querySelector('canvas[data-side={side}]');
          const r = canvas.getBoundingClientRect();
          const data = JSON.parse(document.getElementById('maps').textContent)[box.dataset.map];
          const bytes = (t) => Uint8Array.from(atob(t), c => c.charCodeAt(0));
          const read = (t) => new Uint16Array(bytes(t).buffer);
          const [x, y] = [read(data.x), read(data.y)];
          const e = [Math.max(...x) / 65535, Math.max(...y) / 65535];
          const w = canvas.clientWidth, h = canvas.clientHeight;
          const room = Math.min((w - 28) / e[0], (h - 28) / e[1]);
          return [r.left + canvas.clientLeft + w / 2 + (x[{index}] / 65535 - e[0] / 2) * room,
                  r.top + canvas.clientTop + h / 2 - (y[{index}] / 65535 - e[1] / 2) * room,
                  Number(canvas.dataset.scale)];
        }})()"""
    )


def test_hover_names_the_row(desktop, address):
    view = dataset(methods=("near", HOSTILE), name=HOSTILE)
    near = view.predictions["near"]
    for row in (0, 4, 31):
        x, y, _ = spot(desktop, row)
        desktop.mouse("mouseMoved", x, y)
        desktop.frame()
        lines = desktop.run(
            "Array.from(document.querySelectorAll('.tip:not([hidden]) > div'), d => d.textContent)"
        )
        assert lines[:4] == [
            "",  # the picture
            f"row {row}",
            f"label: {view.classes[view.y[row]]}",
            f"prediction: {view.classes[near.labels[row]]}",
        ]
        assert lines[4] == f"confidence: {100 * near.confidence[row]:.0f} %"
        assert ("its label was given" in lines) == (row in near.labeled)
    desktop.mouse("mouseMoved", 2, 2)
    desktop.frame()
    assert desktop.run("document.querySelectorAll('.tip:not([hidden])').length") == 0
    quiet(desktop, address)


def test_wheel_zooms_about_the_pointer_and_drag_moves(desktop, address):
    x, y, scale = spot(desktop, 4)
    assert scale == 1
    desktop.run("new Promise(r => setTimeout(r, 350))")  # a page at rest, not being scrolled
    for _ in range(4):
        desktop.mouse("mouseWheel", x, y, deltaX=0, deltaY=-60)
    desktop.frame()
    assert spot(desktop, 4)[2] == pytest.approx(3.32, abs=0.05)
    desktop.mouse("mouseMoved", x, y)  # the point under the pointer stayed there
    desktop.frame()
    tip = "document.querySelector('.tip').textContent"
    assert "row 4" in desktop.run(tip)
    desktop.mouse("mousePressed", x, y, button="left", clickCount=1)
    desktop.mouse("mouseMoved", x + 60, y + 10, button="left", buttons=1)
    desktop.mouse("mouseReleased", x + 60, y + 10, button="left", clickCount=1)
    desktop.frame()
    assert "row 4" in desktop.run(tip)  # it moved along with the pointer
    desktop.run("document.querySelector('.map button.reset').click()")
    desktop.frame()
    assert spot(desktop, 4)[2] == 1
    quiet(desktop, address)


def test_choosing_a_method_changes_the_right_picture(desktop, address):
    def pixels(side):
        desktop.frame()
        return desktop.run(f"document.querySelector('canvas[data-side={side}]').toDataURL()")

    desktop.mouse("mouseMoved", 2, 2)
    truth, guess = pixels("truth"), pixels("guess")
    choose = (
        "(() => {{ const s = document.querySelector('.map select.{0}'); s.value = '{1}';"
        "s.dispatchEvent(new Event('change')); }})()"
    )
    desktop.run(choose.format("method", 1))
    other = pixels("guess")
    assert other != guess and pixels("truth") == truth
    for mode in ("mistakes", "confidence"):
        desktop.run(choose.format("mode", mode))
        assert pixels("guess") not in (other, guess)
    desktop.run(choose.format("mode", "prediction"))
    desktop.run(choose.format("method", 0))
    assert pixels("guess") == guess
    desktop.run("document.querySelector('.chip').click()")
    assert pixels("guess") != guess
    desktop.run("document.querySelector('.chip').click()")
    assert pixels("guess") == guess
    quiet(desktop, address)


def test_table_sorts_and_filters(desktop, address):
    column = (
        "Array.from(document.querySelectorAll('#all-results tbody tr:not([hidden])'),"
        "r => r.cells[{}].textContent)"
    )
    press = "document.querySelectorAll('#all-results thead button')[{}].click()"
    desktop.run(press.format(2))
    counts = [int(text) for text in desktop.run(column.format(2))]
    assert counts == sorted(counts) and len(counts) == 5
    desktop.run(press.format(2))
    assert [int(text) for text in desktop.run(column.format(2))] == counts[::-1]
    desktop.run(
        "(() => { const i = document.querySelector('input.filter'); i.value = 'BLOBS near';"
        "i.dispatchEvent(new Event('input')); })()"
    )
    assert desktop.run(column.format(1)) == ["near", "near"]
    assert desktop.run("document.querySelector('.count').textContent") == "2 rows"
    quiet(desktop, address)


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_page_never_scrolls_sideways(desktop, address, width):
    desktop.open(address, width, 800, touch=width < 700)
    desktop.frame()
    assert desktop.run("window.innerWidth") == width
    assert desktop.run("document.documentElement.scrollWidth") <= width
    # Exactly one of each figure's two versions is to be seen.
    shown = "Array.from(document.querySelectorAll('{}'), e => e.offsetHeight > 0)"
    assert set(desktop.run(shown.format("figure .narrow"))) == {width <= 640}
    assert set(desktop.run(shown.format("figure .wide"))) == {width > 640}
    quiet(desktop, address)


def test_no_table_is_wider_than_a_printed_page(desktop, address):
    width = 718  # A4 at 96 dots per inch, without margins of a centimeter
    desktop.open(address, width, 1000, touch=False)
    desktop.send("Emulation.setEmulatedMedia", media="print")
    desktop.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    tables = "Array.from(document.querySelectorAll('{}'), (e) => e.getBoundingClientRect().right)"
    assert max(desktop.run(tables.format("table:not(.confusion)"))) <= width
    assert desktop.run(tables.format(".bars"))
    desktop.send("Emulation.setEmulatedMedia", media="")


def test_tap_on_a_phone_shows_the_row_within_the_window(desktop, address):
    desktop.open(address, 390, 844, touch=True)
    x, y, _ = spot(desktop, 31, side="guess")
    desktop.frame()
    desktop.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    desktop.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    desktop.frame()
    left, right, text = desktop.run(
        "(() => { const t = document.querySelector('.tip:not([hidden])'),"
        "r = t.getBoundingClientRect(); return [r.left, r.right, t.textContent]; })()"
    )
    assert "row 31" in text and left >= 0 and right <= 390
    quiet(desktop, address)


def test_page_without_script_still_shows_all_but_the_maps(desktop, address):
    desktop.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        desktop.open(address, 1280, 900, touch=False)
        text = desktop.run("document.body.innerText")
        assert "The maps need JavaScript." in text and "Most confidently wrong" in text
        assert desktop.run("document.querySelectorAll('#all-results tbody tr').length") == 5
        quiet(desktop, address)
    finally:
        desktop.send("Emulation.setScriptExecutionDisabled", value=False)
