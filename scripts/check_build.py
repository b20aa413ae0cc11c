"""Check the contents of a wheel: python scripts/check_build.py dist [--release].

Every `require(package, extra=...)` of the wheel's own sources must name an extra that brings the package: the remedy
that a user reads has to help. With `--release`, project URLs must not be placeholders.
"""

import ast
import re
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

LARGEST = 1_000_000
CORE = ""  # what is always installed
WEIGHTS = "hyperlabel/networks/weights"
WANTED = (f"{WEIGHTS}/hlm2.safetensors", f"{WEIGHTS}/hlm.safetensors", "hyperlabel/py.typed")
PLACEHOLDER = "https://hyperlabel.invalid/"  # project URLs until there is a public home
FOREIGN = ("experiments/", "tests/", "training/", "docs/")
BRINGS = {  # package that is imported: what is installed for it, where the names differ
    "sklearn": "scikit-learn",
    "scipy": "scikit-learn",
    "distributed": "dask",
    "mlflow": "mlflow-skinny",
    "inspect_ai": "inspect-ai",
}


def find_faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel, one line each."""
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    faults = [f"{name} is missing" for name in WANTED if name not in names]
    faults += [f"{name} does not belong in the wheel" for name in names if name.startswith(FOREIGN)]
    faults += find_useless_remedies(archive)
    if wheel.stat().st_size >= LARGEST:
        faults.append(f"{wheel.name} has {wheel.stat().st_size:,} bytes; it must stay below {LARGEST:,}")
    return faults


def find_useless_remedies(archive: zipfile.ZipFile) -> list[str]:
    """Extras that messages name and that do not exist, or do not bring the package."""
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    extras = read_extras(archive.read(metadata).decode())
    faults = []
    for name in archive.namelist():
        if name.endswith(".py"):
            for package, extra in find_requires(archive.read(name).decode()):
                if extra not in extras:
                    faults.append(f"{name} names the extra '{extra}', which does not exist")
                elif BRINGS.get(package, package) not in brought(extra, extras) | brought(CORE, extras):
                    faults.append(f"{name} names the extra '{extra}', which does not bring '{package}'")
    return faults


def read_extras(metadata: str) -> dict[str, list[str]]:
    """The requirements of each extra, as a wheel's metadata state them; those without one under `CORE`."""
    fields = message_from_string(metadata)
    extras: dict[str, list[str]] = {CORE: [], **{name: [] for name in fields.get_all("Provides-Extra", [])}}
    for line in fields.get_all("Requires-Dist", []):
        requirement, _, marker = line.partition(";")
        for extra in re.findall(r"extra == ['\"]([\w-]+)['\"]", marker) or [CORE]:
            extras[extra].append(requirement.strip())
    return extras


def brought(extra: str, extras: dict[str, list[str]]) -> set[str]:
    """What an extra installs by name, with the extras that it names itself."""
    found = set()
    for requirement in extras[extra]:
        name, inner = re.match(r"([\w.-]+)(?:\[([^\]]*)\])?", requirement).groups()  # type: ignore[union-attr]
        found.add(name)
        if name == "hyperlabel":
            for other in inner.split(","):
                found |= brought(other, extras)
    return found


def find_requires(source: str) -> Iterator[tuple[str, str]]:
    """(package, extra) of the calls of `require`, in loops over written names too."""
    tree = ast.parse(source)
    tables = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "require":
            extra = call.keywords[0].value
            if isinstance(extra, ast.Constant):
                for package in _packages(call, loops, tables):
                    yield package.partition(".")[0], extra.value
    if "ENGINES" in tables and isinstance(tables["ENGINES"], ast.Dict):
        for packages, extra in ast.literal_eval(tables["ENGINES"]).values():
            yield from ((package.partition(".")[0], extra) for package in packages)


def _packages(call: ast.Call, loops: list[ast.For], tables: dict[str, ast.expr]) -> list[str]:
    argument = call.args[0]
    if isinstance(argument, ast.Constant):
        return [argument.value]
    [loop] = [loop for loop in loops if call in ast.walk(loop)]
    names = tables[loop.iter.id] if isinstance(loop.iter, ast.Name) else loop.iter
    return list(ast.literal_eval(names))


def find_placeholders(wheel: Path) -> list[str]:
    """Project URLs that are still placeholders."""
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    urls = message_from_string(archive.read(metadata).decode()).get_all("Project-URL", [])
    return [f"project URL '{url}' is a placeholder" for url in urls if PLACEHOLDER in url]


def main(folder: str, *options: str) -> int:
    """Check the wheel of a folder; returns the exit code."""
    wheels = list(Path(folder).glob("*.whl"))
    faults = find_faults(wheels[0]) if len(wheels) == 1 else [f"{folder} holds {len(wheels)} wheels instead of one"]
    placeholders = find_placeholders(wheels[0]) if len(wheels) == 1 else []
    if "--release" in options:
        faults += placeholders
    elif placeholders:
        print(f"{len(placeholders)} project URLs are placeholders; --release refuses them")
    print("\n".join(faults) or f"{wheels[0].name}: {wheels[0].stat().st_size:,} bytes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
