"""Clock, lanes, threads and the HTTP server."""
