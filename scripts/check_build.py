"""What a wheel must hold, and what it must not: python scripts/check_build.py dist."""

import sys
import zipfile
from pathlib import Path

LARGEST = 1_000_000
WANTED = ("hyperlabel/weights/hlm2.safetensors", "hyperlabel/weights/hlm.safetensors", "hyperlabel/py.typed")
FOREIGN = ("experiments/", "tests/", "training/", "docs/")


def find_faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel, one line each."""
    names = zipfile.ZipFile(wheel).namelist()
    faults = [f"{name} is missing" for name in WANTED if name not in names]
    faults += [f"{name} does not belong into the wheel" for name in names if name.startswith(FOREIGN)]
    if wheel.stat().st_size >= LARGEST:
        faults.append(f"{wheel.name} has {wheel.stat().st_size:,} bytes; it must stay below {LARGEST:,}")
    return faults


def main(folder: str) -> int:
    """Check the wheel of a folder; returns the exit code."""
    wheels = list(Path(folder).glob("*.whl"))
    faults = find_faults(wheels[0]) if len(wheels) == 1 else [f"{folder} holds {len(wheels)} wheels instead of one"]
    print("\n".join(faults) or f"{wheels[0].name}: {wheels[0].stat().st_size:,} bytes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
