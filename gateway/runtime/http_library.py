"""The parts of uvicorn that serve, without its command, which loads click: 10 ms of the processor and 2 MB."""

from gateway.runtime.imports import deferred

with deferred("uvicorn.main", "Server", "main", "run"):
    from uvicorn.config import Config
    from uvicorn.protocols.http.h11_impl import H11Protocol
    from uvicorn.server import Server, ServerState

__all__ = ["Config", "H11Protocol", "Server", "ServerState"]
