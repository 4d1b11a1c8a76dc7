"""The bounded dictionary."""

from gateway.runtime.bounded_dict import BoundedDict


def test_the_oldest_is_evicted() -> None:
    """No more entries are kept than the bound allows, and the one set longest ago goes first."""
    kept = BoundedDict[str, int](2)
    kept["a"], kept["b"], kept["c"] = 1, 2, 3
    assert list(kept.items()) == [("b", 2), ("c", 3)]


def test_setting_a_key_again_makes_it_the_newest() -> None:
    """An entry in use outlives one that was set after it and not again; reading alone does not count."""
    kept = BoundedDict[str, int](2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3
    assert kept["b"] == 2
    kept["c"] = 4
    assert list(kept.items()) == [("a", 3), ("c", 4)]


def test_a_removed_key_makes_room() -> None:
    """After a removal nothing is evicted for the next key, and a default that is set counts as an entry."""
    kept = BoundedDict[str, int](2)
    kept["a"], kept["b"] = 1, 2
    assert kept.pop("a") == 1
    assert kept.setdefault("c", 3) == 3
    assert kept.setdefault("d", 4) == 4
    assert list(kept) == ["c", "d"]
