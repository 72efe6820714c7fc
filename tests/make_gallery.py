"""Make the pictures and films of the gallery again: `python tests/make_gallery.py [NAME...]`, which takes some minutes."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.gallery import entries, made, write_small
from support.process import environment


def command(words):
    """Run simcli."""
    subprocess.run([sys.executable, "-m", "simcli", *words], check=True, env=environment())


if __name__ == "__main__":
    for entry in entries():
        if len(sys.argv) == 1 or entry.picture.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                write_small(made(entry, Path(folder), command), entry.picture)
                command(entry.film_command(Path(folder)))
                shutil.copyfile(Path(folder) / entry.film.name, entry.film)
            for file in (entry.picture, entry.film):
                sys.stdout.write(f"{file.name}: {file.stat().st_size / 1000:.0f} kB\n")
