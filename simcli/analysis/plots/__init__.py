"""Pictures of channels and of worlds.

In: series and rows. Out: figures of matplotlib, and characters. Never here: pictures of bodies (view).

    plot           pictures of channels over time
    plot_worlds    pictures over worlds: a point, a bar's part or a cell for each
    plot_terminal  pictures in a terminal: what a figure of matplotlib shows, in characters
"""
