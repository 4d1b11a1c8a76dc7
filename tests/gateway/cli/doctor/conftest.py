from pathlib import Path

import pytest

from tests.gateway.cli.doctor.patient import Patient


@pytest.fixture
def patient(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Patient:
    patient = Patient(tmp_path / "home", capsys)
    assert patient.run("init", "--yes")[0] == 0
    return patient
