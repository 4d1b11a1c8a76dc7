"""Strandline for authors of packages: one module for each kind of plug-in, and `strandline.testing`.

Whatever these modules name stays as it is within a minor version; the packages `adapters`, `gateway` and `workspaces`
are the program itself and may change with any release.
"""
