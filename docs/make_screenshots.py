"""Show how the documentation looks: `python docs/make_screenshots.py FOLDER` builds the site and writes FOLDER/*.png.

It needs `pip install '.[docs]'` and Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 120


@dataclass(frozen=True)
class Shot:
    """A page, or a picture of docs/, as a browser of so many pixels shows it."""

    page: str
    width: int
    height: int
    dark: bool = False


SHOTS = {
    "front-light": Shot("index.html", 1280, 900),
    "front-dark": Shot("index.html", 1280, 900, dark=True),
    "front-phone": Shot("index.html", 500, 1000),
    "functions": Shot("functions.html", 1280, 1000),
    "pattern-dark": Shot("patterns.html", 1280, 1000, dark=True),
    "shell": Shot("pictures/shell.svg", 1000, 760),
    "notebook": Shot("pictures/notebook.svg", 960, 820),
    "matches": Shot("pictures/matches.svg", 1100, 640),
    "concepts-dark": Shot("concepts.html", 1280, 1600, dark=True),
    "syntax-phone": Shot("syntax.html", 500, 1000),
}


def take(shot: Shot, site: Path, browser: str, to: Path) -> None:
    """Write what a browser shows."""
    scheme = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if shot.dark else []
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        options += [f"--window-size={shot.width},{shot.height}", "--virtual-time-budget=5000", f"--screenshot={to}"]
        url = (site / shot.page).as_uri()
        subprocess.run([browser, *options, *scheme, url], check=True, capture_output=True, timeout=SECONDS)


def main(folder: Path) -> None:
    """Build the site and write every picture."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is installed")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as site:
        build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", site]
        subprocess.run(build, check=True, cwd=ROOT)
        for name, shot in SHOTS.items():
            take(shot, Path(site), browser, (folder / f"{name}.png").resolve())
            print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
