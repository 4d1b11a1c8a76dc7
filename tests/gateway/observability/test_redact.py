import json

from gateway.observability.redact import Redactor

CANARY = 'bot12345:AA"canary'


def test_a_secret_leaves_every_form_of_a_text() -> None:
    """As it is, inside a longer word, and as JSON escapes it; a longer secret is not cut by a shorter one."""
    redact = Redactor([CANARY, "abcdef", "abcdefgh", "tiny", ""])
    assert redact(f"https://host/{CANARY}/send") == "https://host/[redacted]/send"
    assert "canary" not in redact(json.dumps({"url": CANARY}))
    assert redact("abcdefgh abcdef tiny") == "[redacted] [redacted] tiny"
    assert Redactor([])("text") == "text"
