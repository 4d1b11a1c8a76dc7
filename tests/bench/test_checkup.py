"""The check-up's bench: a smaller planted year, and the figures that must hold on it."""

from datetime import UTC, datetime
from pathlib import Path

from bench.checkup import check_home, judge
from bench.planted_year import plant_year


async def test_planted_faults_are_found_and_little_else(tmp_path: Path) -> None:
    """Precision and recall as the product promises, and no file changes without a tap."""
    year = plant_year(tmp_path / "home", seed=3, days=40, faults=80)
    run = await check_home(year.home, datetime(2026, 2, 1, tzinfo=UTC))
    judged = judge(year, run.record.proposals)
    assert sum(year.planted.values()) >= 70
    assert judged.precision >= 0.95, [str(each) for each in judged.wrong]
    assert judged.recall >= 0.8, judged.missed
    assert run.changed == 0
