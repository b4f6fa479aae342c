"""Write the catalogues of `docs/generated` from the sources, and tell when they are stale.

Most pages are read off the syntax trees, so that they need nothing to run; the pages about plugin
configuration and tools import the plugins and ask them.
"""
