"""A folder that goes away and comes back, as a mount point whose disk is unmounted and mounted again."""

import os
import shutil
import subprocess
from pathlib import Path


class Disk:
    """A folder whose content goes away, which leaves an empty one in its place, and comes back.

    Root mounts it; without root, or where nothing can be mounted, the folder is renamed, which looks the same to those
    who go by its path.
    """

    def __init__(self, place: Path):
        self.folder, self._content = place / "disk", place / "content"
        self.folder.mkdir(parents=True)
        self._content.mkdir()
        self.is_mounted = os.geteuid() == 0 and self._mount()
        if not self.is_mounted:
            self.come()

    def go(self) -> None:
        """Leave an empty folder."""
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.folder], check=True)
        else:
            self.folder.rename(self._content)
            self.folder.mkdir()

    def come(self, keep: bool = False) -> None:
        """Put the content back; what was written in its place is gone, or hidden below a mounted one if it is kept."""
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.is_mounted:
            self.folder.mkdir(exist_ok=True)
            assert self._mount()
        else:
            self._content.rename(self.folder)

    def close(self) -> None:
        """Unmount it for good."""
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.folder], capture_output=True)

    def left(self) -> list[str]:
        """Return what was written in the place of the content while that was away."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))

    def _mount(self) -> bool:
        return subprocess.run(["mount", "--bind", self._content, self.folder], capture_output=True).returncode == 0
