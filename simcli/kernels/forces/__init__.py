"""Forces on links and coordinates as columns of numbers.

In: poses, twists, signals. Out: forces on links, efforts, work. Never here: bounds (rows/bounded_laws.py), energies of
affine bodies (potentials).
"""
