"""Text to a tree with the place of every word, and back.

In: YAML files, their includes, overrides of the command line. Out: a Document; a SceneSpec as YAML. Never here: what the
words mean.
"""
