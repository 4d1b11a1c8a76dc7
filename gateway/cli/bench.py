"""`strandline bench …`: the project's own measurements; needs the source tree."""

from gateway.errors import StrandlineError

try:
    from bench.commands import app
except ModuleNotFoundError as exc:
    if (exc.name or "").partition(".")[0] != "bench":
        raise
    raise StrandlineError("the benchmarks come with the source: run `make bench` in a checkout") from exc

__all__ = ["app"]
