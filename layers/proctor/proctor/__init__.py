"""Proctor: what its functions share.

`domain` holds values and rules, `ports` says what the rules need from outside, `wire` parses AWS envelopes,
`adapters` speak to AWS, and `runtime` runs a Reaction. Importing this package does nothing.
"""
