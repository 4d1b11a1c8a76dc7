"""A mistyped time zone leads to the one that was meant."""

import pytest

from gateway.settings.zone import zone_like


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("GMT+1", None),
        ("Atlantis", None),
    ],
)
def test_a_zone_is_known_by_its_city(text: str, zone: str | None) -> None:
    """In any capitals; "GMT+1" is none, as the zone of that name lies an hour west of Greenwich."""
    assert zone_like(text) == zone
