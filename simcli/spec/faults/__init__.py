"""What is wrong with a scene, where, and what to write instead.

In: what a check or pydantic finds. Out: faults in words, as JSON and as SARIF. Never here: the checks.
"""
