"""Pictures and films, drawn here, without a display.

In: drawings and motions. Out: PNG, GIF, MP4. Never here: how rays are cast (kernels/rays).

    moments  poses of a run at any time: between frames, and after the end of a world that has ended before the others
    grounds  what bodies stand on: planes of the scene as far as they are drawn, or a floor where there is none
    stage    drawings as solids of the ray caster: what does not move is made once
    render   pictures of runs and of scenes, drawn here, without a display
    images   pictures and films as files: PNG and GIF by Pillow, MP4 by PyAV, the extra `render`
"""
