"""einsum, in NumPy's notation."""

import functools

from ._statement import Statement


@functools.lru_cache(maxsize=512)
def _statement(subscripts, orders, reduce, combine, format):
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(orders):
        raise ValueError(f"got the subscripts of {len(terms)} operands, want {len(orders)}")
    letters = [c for c in dict.fromkeys(left) if c.isalpha()]
    dots = 0
    for t, n in zip(terms, orders):
        given = len(t.replace("...", ""))
        if "..." in t:
            dots = max(dots, n - given)
        if n < given or "..." not in t and n != given:
            raise ValueError(f"got {t!r} for an operand with {n} modes")
    ellipsis = [f"d{k}" for k in range(dots)]

    def variables(t, order):
        before, rest, after = t.partition("...")
        if not (before + after).replace("", "x").isalnum() or not (before + after).isascii() \
                or any(not c.isalpha() for c in before + after):
            raise ValueError(f"got the subscripts {t!r}, want letters and ...")
        n = order - len(before) - len(after)
        return list(before) + (ellipsis[dots - n:] if rest and n else []) + list(after)

    indices = [variables(t, n) for t, n in zip(terms, orders)]
    if arrow:
        n = len(right.replace("...", "")) + (dots if "..." in right else 0)
        result = variables(right, n)
    else:
        flat = [v for i in indices for v in i]
        result = ellipsis + sorted(v for v in set(letters) if flat.count(v) == 1)
    if len(set(result)) != len(result):
        raise ValueError(f"got the subscripts {right!r} with a letter twice, want each once")
    for v in result:
        if not any(v in i for i in indices):
            raise ValueError(f"got the subscripts {right!r}, but no operand has {v!r}")
    names = [f"T{k}" for k in range(len(indices))]
    product = f" {combine} ".join(_access(n, i) for n, i in zip(names, indices))
    summed = list(dict.fromkeys(v for i in indices for v in i if v not in result))
    if reduce != "sum" and summed:
        for v in reversed(summed):
            product = f"{reduce}({v}, {product})"
    return Statement(f"{_access('R', result)} = {product}", format), tuple(names)


def _access(name, variables):
    return f"{name}({','.join(variables)})" if variables else name


def einsum(subscripts, *operands, out=None, format=None, reduce="sum", combine="*"):
    """Compute a product of tensors in Einstein's notation, as numpy.einsum does.

    The operands may be dense or sparse, and the result is what they are. reduce names the
    reduction ("sum", "min", "max", ...), and combine the operator between the operands ("*" or "+").

    >>> import numpy as np, scipy.sparse, distaff
    >>> A = scipy.sparse.csr_matrix(np.array([[2.0, 0, 1], [0, 3, 0]]))
    >>> distaff.einsum("ij,jk->ik", A, np.ones((3, 2)))
    array([[3., 3.],
           [3., 3.]])
    >>> float(distaff.einsum("ij,ij->", A, A))
    14.0
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"got {type(subscripts).__name__} for the subscripts, want a str")
    orders = tuple(_order(x) for x in operands)
    s, names = _statement(subscripts, orders, reduce, combine, format)
    return s(out=out, **dict(zip(names, operands)))


def _order(x):
    n = getattr(x, "ndim", None)
    if n is not None:
        return n() if callable(n) else n
    if isinstance(x, (bool, int, float, complex)):
        return 0
    import numpy as np
    try:
        return np.ndim(x)
    except ValueError as e:
        raise ValueError(f"got a {type(x).__name__} as an operand: {e}") from None
