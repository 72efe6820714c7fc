"""Make the pictures and films of the gallery again: `python tests/make_gallery.py [NAME...]`, which takes some minutes."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from PIL import Image
from support.gallery import ROBOT, ROBOT_PICTURE, entries, made, robot_commands, robot_meshes, write_small
from support.process import environment


def command(words):
    """Run simcli."""
    subprocess.run([sys.executable, "-m", "simcli", *words], check=True, env=environment())


def make_robot():
    """Write the meshes of the robot of the page `import`, and its picture."""
    for name, text in robot_meshes().items():
        ROBOT.with_name(name).write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        commands, picture = robot_commands(Path(folder))
        for words in commands:
            command(words)
        with Image.open(picture) as image:
            write_small(np.asarray(image.convert("RGB")), ROBOT_PICTURE)


if __name__ == "__main__":
    if len(sys.argv) == 1 or ROBOT.stem in sys.argv[1:]:
        make_robot()
    for entry in entries():
        if len(sys.argv) == 1 or entry.picture.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                write_small(made(entry, Path(folder), command), entry.picture)
                command(entry.film_command(Path(folder)))
                shutil.copyfile(Path(folder) / entry.film.name, entry.film)
            for file in (entry.picture, entry.film):
                sys.stdout.write(f"{file.name}: {file.stat().st_size / 1000:.0f} kB\n")
