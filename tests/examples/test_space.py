"""The page in ``examples/space``, driven in a real browser as a visitor would."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium to drive")]


@pytest.fixture(scope="module")
def app():
    spec = importlib.util.spec_from_file_location("space", ROOT / "examples/space/app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def address(app):
    page = app.build()
    _, address, _ = page.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    yield address
    page.close()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    """The page after its first example was answered; its errors fail the test."""
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.get_by_text("What counted").wait_for(timeout=60_000)
    yield page
    page.close()
    assert errors == []


def after(page, title):
    """The words on the right side below a title."""
    pair = page.locator(".pair", has=page.get_by_text(title, exact=True)).first
    return pair.locator(".after .bar span:first-of-type").all_inner_texts()


def test_it_opens_with_an_example_and_its_answers(page):
    assert page.get_by_label("Word", exact=True).input_value() == "paxlovid"
    assert {"drug", "medication"} <= set(after(page, "a paxlovid is a kind of _."))
    assert "pill" in after(page, "to its embedding")
    assert page.get_by_text("Definition: an oral antiviral").count() == 1


def test_a_click_on_an_example_answers_it(page):
    page.get_by_role("button", name="oldanka").click()
    page.get_by_text("an oldanka is a kind of _.").wait_for(timeout=60_000)
    assert "boat" in after(page, "an oldanka is a kind of _.")
    counted = page.locator(".rw > .after .bar span:last-of-type").all_inner_texts()
    assert len(counted) == 3  # two sentences and the spelling
    assert sum(int(one.rstrip("%")) for one in counted) == pytest.approx(100, abs=2)


def test_sentences_of_a_visitor_and_a_question_of_their_own(page):
    page.get_by_label("Word", exact=True).fill("quimbel")
    page.get_by_label("Definition").fill("")
    page.get_by_label("Sentences").fill("He rode a quimbel to town.\nThe quimbel neighed in its stable.")
    page.get_by_label("Your own question").fill("the quimbel ran like a _.")
    page.get_by_role("button", name="Learn the word").click()
    page.get_by_text("the quimbel ran like a _.", exact=True).wait_for(timeout=60_000)
    assert after(page, "the quimbel ran like a _.")
    assert "horse" in after(page, "a quimbel is a kind of _.")


@pytest.mark.parametrize(
    ("word", "definition", "said"), [("", "a fruit", "type one word"), ("zorb", "", "or a definition")]
)
def test_a_mistake_is_one_sentence(page, word, definition, said):
    page.get_by_label("Word", exact=True).fill(word)
    page.get_by_label("Definition").fill(definition)
    page.get_by_role("button", name="Learn the word").click()
    toast = page.locator(".toast-body")
    toast.wait_for(timeout=30_000)
    assert said in toast.inner_text().lower()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_it_fits_the_screen_and_loads_nothing_from_elsewhere(browser, address, width, scheme):
    page, elsewhere = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme), []
    own = re.compile(rf"(data:|blob:|{re.escape(address.rstrip('/'))})")
    page.on("request", lambda request: own.match(request.url) or elsewhere.append(request.url))
    page.goto(address)
    page.get_by_text("What counted").wait_for(timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert elsewhere == []
    page.close()


def test_serve_shows_this_page():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rarewords", "serve", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as serve:
        try:
            for _ in range(120):
                try:
                    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read().decode()
                    break
                except OSError:
                    time.sleep(0.5)
            assert "Learn the word" in text
        finally:
            serve.terminate()


def test_wheel_and_sdist_have_the_page():
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {"examples/space/app.py": "rarewords/assets/space.py"}
    assert "examples" in targets["sdist"]["include"]  # the wheel is built from it
