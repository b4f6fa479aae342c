"""Check the rules of this repository that no ready-made linter knows.

Each rule is a function from a `Tree` to a list of `Finding`s, so that the test suite can run it on
the checkout and, on a small wrong tree, show that it finds what it is for.
"""
