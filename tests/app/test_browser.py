"""The page in a real browser: typed and read as a visitor does it, on a desk and a phone."""

import shutil
import threading
from contextlib import chdir

import pytest
from transformers import AutoTokenizer

from rarewords.app.server import Server
from rarewords.app.study import Study
from rarewords.teaching.learners import open_learner

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def until(page, condition):
    """Wait for a condition; the page's own policy forbids playwright to evaluate it there again and again."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(100)
    raise AssertionError(condition)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def url(lm, place):
    with chdir(place), Server(Study(lm, open_learner(lm)[0]), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.url
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if BROWSER is None:
        pytest.skip("no Chromium on this machine; install it (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser, url):
    """Open the page; at the end it must have loaded nothing from elsewhere and made no error."""
    contexts, faults = [], []

    def opened(width=1280, height=900, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(200_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if not _own(request.url, url) else None)
        page.goto(url)
        page.wait_for_selector("#sample option:nth-child(20)", state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def _own(address, url):
    return address.startswith((url, "data:"))


def test_a_word_and_sentences_are_typed_and_answered_by_keyboard_alone(open_page):
    page = open_page()
    page.keyboard.press("Tab")  # the samples
    page.keyboard.press("Tab")
    page.keyboard.type("blimpet")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")  # the example
    for line in ("He peeled a blimpet and ate it.", "A ripe blimpet is sweeter than a plum."):
        page.keyboard.type(line + "\n")
    page.keyboard.press("Tab")
    page.keyboard.type("you can eat a blimpet with _ .")
    until(page, "!document.getElementById('send').disabled")  # the example is answered
    page.keyboard.press("Control+Enter")
    page.locator("#answer h2", has_text="blimpet").wait_for()
    assert page.text_content("#answer h2") == "blimpet"
    assert page.locator(".question").count() == 4
    assert page.locator(".question em").all_text_contents() == ["blimpet"] * 4
    for side in ("before", "after"):
        assert page.locator(f".{side} .bars li").count() == 24
    assert page.locator(".uses li").count() == 2
    assert page.locator(".near li").count() == 10
    assert page.locator(".share").get_attribute("aria-label").endswith("from the spelling")


def test_the_page_opens_with_an_example_its_verdict_and_a_button_that_saves_it(open_page, place):
    page = open_page()
    page.locator("#verdict .hint", has_text="held-out gain").wait_for()
    assert page.input_value("#word") == page.text_content("#answer h2") == "kumquat"
    assert page.text_content("#verdict h3") == "Verdict"
    page.click(".save")
    page.locator(".save", has_text="Saved").wait_for()
    assert "taught-kumquat" in page.text_content("#verdict")
    tokenizer = AutoTokenizer.from_pretrained(place / "taught-kumquat")
    assert len(set(tokenizer("a kumquat").input_ids) - set(range(30522))) == 1
    widths = "[...document.querySelectorAll('.bar i')].map(bar => parseFloat(bar.style.width))"
    numbers = [float(text[:-2]) for text in page.locator(".bars .number").all_text_contents()]
    scale = {round(number / width, 2) for number, width in zip(numbers, page.evaluate(widths), strict=True)}
    assert max(scale) - min(scale) < 0.02  # one scale for all questions; the figures are rounded


def test_a_sample_fills_the_form_and_is_answered(open_page):
    page = open_page()
    page.select_option("#sample", "persimmon")
    page.locator("#answer h2", has_text="persimmon").wait_for()
    assert page.input_value("#word") == "persimmon"
    assert page.text_content("#answer h2") == "persimmon"
    assert page.locator(".uses mark").count() >= 4
    assert "now" in page.text_content("#lines")


def test_mistakes_are_told_beside_the_button_and_what_is_typed_stays(open_page):
    page = open_page()
    page.wait_for_selector(".question")
    page.fill("#word", "<img src=x onerror=alert(1)>")
    page.fill("#sentences", "a <img src=x onerror=alert(1)> plum")
    page.click("#send")
    page.wait_for_selector("#error:not([hidden])")
    assert page.text_content("#error") == "Type one word of at most 40 letters"
    page.fill("#word", "blimpet")
    page.click("#send")
    page.locator("#error", has_text="Sentence 1").wait_for()
    page.fill("#sentences", "<b onclick=alert(1)>a</b> blimpet fell from the tree")
    page.click("#send")
    page.locator("#answer h2", has_text="blimpet").wait_for()
    assert "<b onclick=alert(1)>a</b> blimpet" in page.text_content(".uses li")
    assert page.locator(".uses b").count() == 0
    assert page.is_hidden("#error")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen_and_the_answer_comes_into_sight(open_page, scheme):
    page = open_page(390, 844, color_scheme=scheme, has_touch=True, is_mobile=True)
    page.wait_for_selector(".question")
    assert page.evaluate("scrollY") == 0  # the example leaves the page where it begins
    page.select_option("#sample", "dandelion")
    page.locator("#answer h2", has_text="dandelion").wait_for()
    until(page, "document.getElementById('answer').getBoundingClientRect().top < innerHeight / 2")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    controls = "[...document.querySelectorAll('button, select, input')]"
    assert page.evaluate(f"{controls}.filter(e => e.offsetParent && e.offsetHeight < 40).length") == 0
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    brightness = [sum(map(int, colour[4:-1].split(","))) for colour in (ink, paper)]
    assert (brightness[0] < brightness[1]) == (scheme == "light")
