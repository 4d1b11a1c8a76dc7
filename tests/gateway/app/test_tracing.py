"""Traces of models."""

from gateway.agent.models.port import reader_of
from gateway.app.tracing import TracedModel
from tests.fakes.model import ScriptedModel
from workspaces.access import Locality


class HouseModel(ScriptedModel):
    reader = Locality.HERE


def test_a_traced_model_runs_where_its_model_runs() -> None:
    """What stays on the owner's machines is shown to a model there, traced or not."""
    assert reader_of(TracedModel(HouseModel(), "main")) is Locality.HERE
    assert reader_of(TracedModel(ScriptedModel(), "main")) is Locality.ELSEWHERE
