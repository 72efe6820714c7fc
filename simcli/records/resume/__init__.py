"""One writer per file, and where an unfinished one goes on.

In: the path of an output. Out: a lock, a checkpoint, leave to write. Never here: frames.

    lock          one writer per file: a lock file beside it, held by the kernel for as long as the writer lives
    tidy          what runs leave beside their file when they are killed: drafts, a lock, checkpoints that nobody needs
    checkpoint    checkpoints: what a run needs to go on to the same bytes, in files beside its output
    continuation  may an output be written, and where does an unfinished one go on?
"""
