"""wheel.py LIBRARY FOLDER VERSION: makes the wheel of the Python package from the shared library.

It needs no setuptools: a wheel is a zip file of the package with three files about it. Prints the
path of the wheel."""

import base64
import hashlib
import os
import platform
import re
import sys
import zipfile


def normal(version):
    """Return a version of git describe as PEP 440 has it."""
    m = re.fullmatch(r"v?(\d+(?:\.\d+)*)(?:-(\d+)-g([0-9a-f]+))?(-dirty)?", version)
    if not m:
        return "0.0.0+" + (re.sub(r"[^a-z0-9]+", ".", version.lower()).strip(".") or "unknown")
    local = [x for x in (m[3] and "g" + m[3], m[4] and "dirty") if x]
    return m[1] + (f".post{m[2]}" if m[2] else "") + ("+" + ".".join(local) if local else "")


def tag(library):
    """Return the platform of the wheel: the newest version of the C library that it needs."""
    minor = max(int(m) for m in re.findall(rb"GLIBC_2\.(\d+)", library))
    return f"manylinux_2_{max(minor, 17)}_{platform.machine()}"


def main(library, folder, version):
    here = os.path.dirname(os.path.abspath(__file__))
    version = normal(version)
    with open(library, "rb") as f:
        so = f.read()
    name = f"distaff-{version}-py3-none-{tag(so)}.whl"
    about = f"distaff-{version}.dist-info/"
    files = {"distaff/libdistaff.so": so}
    package = os.path.join(here, "distaff")
    for file in sorted(os.listdir(package)):
        if file.endswith((".py", ".pyi", ".typed")):
            with open(os.path.join(package, file), "rb") as f:
                files["distaff/" + file] = f.read()
    with open(os.path.join(here, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    files[about + "METADATA"] = (
        f"Metadata-Version: 2.1\nName: distaff\nVersion: {version}\n"
        "Summary: Tensor index notation on sparse and dense arrays, compiled\nLicense: MIT\n"
        "Requires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: scipy\n"
        "Requires-Dist: scipy; extra == 'scipy'\nDescription-Content-Type: text/markdown\n\n"
        + readme).encode()
    files[about + "WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: distaff\nRoot-Is-Purelib: false\n"
                              f"Tag: py3-none-{tag(so)}\n").encode()
    files[about + "entry_points.txt"] = b"[console_scripts]\ndistaff = distaff.__main__:main\n"
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[about + "RECORD"] = (record + about + "RECORD,,\n").encode()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED, compresslevel=6) as z:
        for file, data in files.items():
            info = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (0o755 if file.endswith(".so") else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(info, data)
    os.replace(path + ".part", path)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
