"""This package writes everything that a gateway knows into one file while it runs, and makes a home of such a file."""
