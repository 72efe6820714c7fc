"""One page that shows the motion; its program stands beside this, and `bundled` has it in one file.

In: a drawing and motions. Out: one HTML file, or a server of it while a run goes on. Never here: what is drawn (drawing).

    curves        the strip below the motion: channels over time, in groups of one unit
    quantised     poses in 12 bytes: positions as 16-bit parts of the range of a body
    content       what a page holds, as JSON: chunks of frames, and the scene around them
    document      one HTML file that holds everything: the content of a page, and the program that shows it
    live          a page of a run that goes on
    live_process  start the process that shows a run while it goes on (`live`), and end it
"""
