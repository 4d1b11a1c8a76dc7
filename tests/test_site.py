"""The documentation's site; that it builds without a warning is tested by `make site`."""

from pathlib import Path

from scripts.site_hook import INDEX, ROOT, linked, listed


def test_the_navigation_is_the_index() -> None:
    """Its sections and pages, in its order; the README is the first one, and every decision is a page."""
    pages = list(listed())
    assert (pages[0].section, pages[0].page) == ("Start", "index.md")
    assert {"contributing.md", "measurements/retrieval.md", "decisions/0002-idf-is-counted-by-us.md"} <= {
        each.page for each in pages
    }
    assert all((INDEX.parent / each.page).is_file() or each.page in {"index.md", "contributing.md"} for each in pages)


def test_links_lead_to_pages_of_the_site() -> None:
    """From the README, from a folder below, to an anchor; a file that is no page keeps its words alone."""
    readme, nested = ROOT / "README.md", ROOT / "docs" / "measurements" / "scale.md"
    assert linked("[a](docs/access.md#pairing)", readme) == "[a](access.md#pairing)"
    assert linked("[a](../README.md) [b](../scale.md)", nested) == "[a](../pages.md) [b](../scale.md)"
    assert linked("[l](LICENSE), [x](https://example.org/a.md)", readme) == "l, [x](https://example.org/a.md)"
    assert linked("![a picture](docs/README.md)", readme) == "![a picture](pages.md)"
    assert linked("[c](../CONTRIBUTING.md)", Path(INDEX)) == "[c](contributing.md)"
