"""The code of README, tutorial, concepts and research runs as printed and shows what the pages say."""

import pytest

from tests.pages import PAGES, ROOT, blocks, hub, run_page

pytestmark = pytest.mark.slow
OTHERS = [page for page in PAGES if "howto" not in page.parts and blocks(page)]


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory):
    with hub(tmp_path_factory.mktemp("hub")):
        yield


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page, tmp_path):
    run_page(page, tmp_path)
