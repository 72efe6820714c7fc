"""One page that shows the motion; its program stands beside this, and `bundled` has it in one file.

In: a drawing and motions. Out: one HTML file, or a server of it while a run goes on. Never here: what is drawn (drawing).
"""
