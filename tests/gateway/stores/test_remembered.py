"""A value that cannot be read any more is forgotten, and counted once."""

from pathlib import Path

from gateway.stores.remembered import UNREADABLE_VALUE, remembered
from gateway.stores.sqlite.store import SqliteStore


async def test_a_damaged_value_is_forgotten_and_counted_once(tmp_path: Path) -> None:
    """What is asked for at every look would fill the log otherwise; a new value counts again."""
    store = await SqliteStore.open(tmp_path / "state.db")
    try:
        await store.put("cut_files:main", "{")
        assert [await remembered(store, "cut_files:main", dict[str, int]) for _ in range(2)] == [None, None]
        assert (await store.report()).reasons[UNREADABLE_VALUE] == 1
        await store.put("cut_files:main", '{"MEMORY.md": 7}')
        assert await remembered(store, "cut_files:main", dict[str, int]) == {"MEMORY.md": 7}
    finally:
        await store.close()
