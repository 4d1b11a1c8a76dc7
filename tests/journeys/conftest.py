from tests.gateway.conftest import unblocked_loop

__all__ = ["unblocked_loop"]
