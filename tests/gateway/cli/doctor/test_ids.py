"""Each check of `strandline doctor` has an id, which the page about monitoring explains."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
FINDING = ROOT / "gateway/control/finding.py"
_ID = re.compile(r'(?:Finding\(\s*f?|check, rows in \(\(|\), \()"([^"{ ]+)')


def test_every_id_is_explained_and_none_besides() -> None:
    """In lower case without blanks; a tool server's has its name at the end."""
    code = "".join(file.read_text("utf-8") for file in [*(ROOT / "gateway/cli/doctor").glob("*.py"), FINDING])
    used = {each.removesuffix(".") for each in _ID.findall(code)}
    used |= {"tool-server"} if 'f"tool-server.{' in code else set()
    page = (ROOT / "docs/monitoring.md").read_text("utf-8")
    table = page[page.index("| Id of a check |") :].partition("\n\n")[0]
    explained = {each.partition(".")[0] for each in re.findall(r"^\| `([a-z.A-Z-]+)` \|", table, re.MULTILINE)}
    assert used == explained
    assert all(re.fullmatch(r"[a-z]+(?:-[a-z]+)*", each) for each in used)
