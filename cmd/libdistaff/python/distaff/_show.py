"""Pictures, plans and the state of the machine."""

import html as _html
import os
import tempfile

import numpy as np

from ._lib import command


def _output(words):
    code, out, err = command(*words)
    if code:
        raise (ValueError if code in (2, 3) else RuntimeError)(err.strip().removeprefix("distaff: "))
    return out


class Picture(str):
    """A picture in SVG, which notebooks show."""

    def _repr_svg_(self):
        return str(self)

    def save(self, path):
        """Write the picture to a file."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self)


class Text(str):
    """A text, which is shown as it is."""

    def __repr__(self):
        return str(self)


def _stored(folder, name, x):
    from ._files import write
    path = os.path.join(folder, name + ".tcs")
    write(path, x)
    return path


def spy(x):
    """Return a picture of where a tensor has entries.

    >>> import numpy as np, distaff
    >>> distaff.spy(np.eye(8)).startswith("<svg")
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.svg")
        _output(["spy", _stored(folder, "tensor", x), "--out=" + path, "-q"])
        with open(path, encoding="utf-8") as f:
            text = f.read()
    return Picture(text[text.index("<svg"):])


def plan(statement, ranks=1, **operands):
    """Return the plan of a statement, as text: loops, work, memory, and what ranks would send.

    >>> import numpy as np, distaff
    >>> "y(i) = A(i,j)*x(j)" in distaff.plan("y(i) = A(i,j) * x(j)", A=np.eye(3), x=np.ones(3))
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        words = ["plan", statement, f"--ranks={ranks}"]
        for name, x in operands.items():
            words.append(f"-i={name}:{_stored(folder, name, x)}")
        return Text(_output(words))


def doctor():
    """Return what the machine has, and what a missing part costs, as text."""
    _, out, err = command("doctor")
    return Text(out + err)


def html(t):
    """Return a table about a tensor and a picture of its entries."""
    rows = [("shape", " × ".join(map(str, t.shape))), ("format", t.format), ("dtype", t.dtype),
            ("entries", f"{t.nnz:,}"),
            ("filled", f"{t.nnz / max(np.prod([float(d) for d in t.shape]), 1):.3g}")]
    cells = "".join(f"<tr><th>{k}</th><td>{_html.escape(str(v))}</td></tr>" for k, v in rows)
    picture = ""
    if t.ndim >= 2 and t.nnz <= 10_000_000:
        try:
            picture = spy(t)
        except (ValueError, RuntimeError, OSError):
            pass
    return f"<div><table>{cells}</table>{picture}</div>"
