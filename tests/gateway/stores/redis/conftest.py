import pytest

from tests.fakes.redis_server import KINDS


@pytest.fixture(params=KINDS, scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)
