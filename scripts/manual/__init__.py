"""Put the documents of the checkout together as the source of one site, and check the result.

The documents are written for a reader of the repository: they stand beside what they describe, and
their links lead to files. The site has one page for each of them and for each example.
"""
