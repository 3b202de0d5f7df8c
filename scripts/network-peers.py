#!/usr/bin/env python3
"""Compares the contraction trees of products of many tensors with those of opt_einsum and cotengra.

Usage: network-peers.py [--distaff PATH] [--seconds S] [--only WORD] [--run] [--list FILE]

Draws networks of ten kinds, of 10 to 1,000 tensors, and prints the multiply-adds of each tree and
the seconds of each search, with geometric means at the end. With --run it also contracts the
networks of less than 10^10 multiply-adds: distaff run, with all that it needs from the command line
to the result, against the search and numpy.tensordot of the other two. It then compares the values.
With --list it only writes the networks to FILE, as JSON. Needs numpy, opt_einsum and cotengra.
"""
import argparse, json, math, os, random, re, subprocess, sys, tempfile, time


class Network:
    """A product: the variables of each factor and of the result, and the sizes of variables."""

    def __init__(self, name, factors, result=(), sizes=2):
        self.name, self.factors, self.result = name, [tuple(f) for f in factors], tuple(result)
        names = sorted({v for f in self.factors for v in f}, key=lambda v: int(v[1:]))
        self.sizes = {v: sizes if isinstance(sizes, int) else sizes[v] for v in names}


def graph(name, edges, nodes, sizes):
    """A network with a tensor for each node and a variable for each edge."""
    factors = [[] for _ in range(nodes)]
    for k, e in enumerate(edges):
        for n in set(e):
            factors[n].append("i%d" % k)
    if callable(sizes):
        sizes = {"i%d" % k: sizes() for k in range(len(edges))}
    return Network(name, [f for f in factors if f], (), sizes)


def chain(n, r):
    factors = [("i%d" % k, "i%d" % (k + 1)) for k in range(n)]
    sizes = {"i%d" % k: r.randint(2, 60) for k in range(n + 1)}
    return Network("chain-%d" % n, factors, ("i0", "i%d" % n), sizes)


def tree(n, r):
    edges = [(r.randint(max(0, k - 12), k - 1), k) for k in range(1, n)]
    return graph("tree-%d" % n, edges, n, lambda: r.randint(2, 6))


def lattice(name, shape, size, r, periodic=False):
    number, nodes = {}, [()]
    for length in shape:
        nodes = [p + (k,) for p in nodes for k in range(length)]
    number = {p: k for k, p in enumerate(nodes)}
    edges = []
    for p in nodes:
        for d, length in enumerate(shape):
            q = list(p)
            q[d] += 1
            if q[d] == length and periodic and length > 2:
                q[d] = 0
            if tuple(q) in number:
                edges.append((number[p], number[tuple(q)]))
    return graph(name, edges, len(nodes), size)


def regular(n, degree, size, r):
    while True:
        stubs = [k for k in range(n) for _ in range(degree)]
        r.shuffle(stubs)
        edges = {tuple(sorted(stubs[k:k + 2])) for k in range(0, len(stubs), 2)}
        if len(edges) == n * degree // 2 and all(a != b for a, b in edges):
            return graph("regular%d-%d" % (degree, n), sorted(edges), n, size)


def hyper(n, r):
    """Tensors of three variables, each variable in one to five tensors."""
    variables = int(n * 0.9)
    factors = [r.sample(range(max(0, k * 9 // 10 - 7), min(variables, k * 9 // 10 + 8)), 3)
               for k in range(n)]
    result = sorted({v for f in factors for v in f})[:2]
    sizes = {"i%d" % v: r.randint(2, 4) for v in range(variables)}
    return Network("hyper-%d" % n, [["i%d" % v for v in f] for f in factors],
                   ["i%d" % v for v in result], sizes)


def circuit(qubits, depth, r):
    """An amplitude of a circuit: layers of two-qubit gates on a line, some of them diagonal."""
    at, factors, count = [], [], 0
    for q in range(qubits):
        at.append("i%d" % count)
        factors.append([at[q]])
        count += 1
    for layer in range(depth):
        for q in range(layer % 2, qubits - 1, 2):
            if r.random() < 0.3:
                factors.append([at[q], at[q + 1]])  # diagonal: variables of three tensors or more
                continue
            new = ["i%d" % count, "i%d" % (count + 1)]
            count += 2
            factors.append([at[q], at[q + 1]] + new)
            at[q], at[q + 1] = new
    for q in range(qubits):
        factors.append([at[q]])
    return Network("circuit-%dx%d" % (qubits, depth), factors)


def mps(n, bond, r):
    """The inner product of two matrix product states with a matrix product operator between."""
    number = {}

    def name(*key):
        return number.setdefault(key, "i%d" % len(number))
    sizes, factors = {}, []
    for k in range(n):
        for row, size in (("a", bond), ("o", 3), ("b", bond)):
            f = []
            if k > 0:
                f.append(name(row, k - 1))
            if k < n - 1:
                f.append(name(row, k))
            for v in f:
                sizes[v] = size
            for phys in {"a": "u", "o": "ud", "b": "d"}[row]:
                f.append(name(phys, k))
                sizes[f[-1]] = 2
            factors.append(f)
    return Network("mps-%d" % (3 * n), factors, (), sizes)


def peps(rows, cols, bond, r):
    """The norm of a state on a lattice: two layers, joined at each place."""
    n = rows * cols
    edges, sizes = [], []
    for layer in range(2):
        for i in range(rows):
            for j in range(cols):
                k = layer * n + i * cols + j
                if i + 1 < rows:
                    edges.append((k, k + cols))
                if j + 1 < cols:
                    edges.append((k, k + 1))
    sizes = [bond] * len(edges) + [2] * n
    edges += [(k, k + n) for k in range(n)]
    return graph("peps-%dx%d" % (rows, cols), edges, 2 * n,
                 {"i%d" % k: s for k, s in enumerate(sizes)})


def networks():
    r = random.Random(7)
    out = []
    for n in (10, 30, 100, 300, 1000):
        out += [chain(n, r), tree(n, r), hyper(n, r)]
    for n in (10, 20, 40, 60, 100, 150):
        out.append(regular(n, 3, 3 if n < 50 else 2, r))
    for n in (10, 20, 30, 50):
        out.append(regular(n, 4, 2, r))
    for shape, size in (((4, 4), 4), ((6, 6), 3), ((10, 10), 2), ((16, 16), 2), ((10, 100), 2)):
        out.append(lattice("lattice-%dx%d" % shape, shape, size, r))
    out.append(lattice("torus-8x8", (8, 8), 2, r, periodic=True))
    for shape in ((3, 3, 3), (4, 4, 4), (5, 5, 5)):
        out.append(lattice("lattice-%dx%dx%d" % shape, shape, 2, r))
    for qubits, depth in ((6, 6), (10, 8), (16, 10), (24, 12), (40, 16), (60, 24)):
        out.append(circuit(qubits, depth, r))
    for n, bond in ((4, 8), (10, 16), (33, 16), (100, 24), (333, 24)):
        out.append(mps(n, bond, r))
    for rows, cols, bond in ((3, 3, 3), (4, 4, 2), (5, 5, 2), (6, 6, 2), (4, 16, 2)):
        out.append(peps(rows, cols, bond, r))
    return out


def cost(net, path):
    """The multiply-adds of a path of pairs, as opt_einsum writes it."""
    held = {}
    for f in net.factors:
        for v in set(f):
            held[v] = held.get(v, 0) + 1
    for v in net.result:
        held[v] = held.get(v, 0) + 1
    items, total = [set(f) for f in net.factors], 0
    for step in path:
        step = sorted(step, reverse=True)
        parts = [items.pop(k) for k in step]
        while parts:
            a = parts.pop()
            b = parts.pop() if parts else set()
            both = a | b
            total += math.prod(net.sizes[v] for v in both)
            for v in a & b:
                held[v] -= 1
            made = {v for v in both if held[v] > 1 or v in net.result}
            if not parts:
                items.append(made)
                break
            parts.append(made)
    return total


def opt_einsum_path(net, seconds):
    import opt_einsum
    sizes = net.sizes
    symbols = {v: opt_einsum.get_symbol(k) for k, v in enumerate(sizes)}
    eq = ",".join("".join(symbols[v] for v in f) for f in net.factors)
    eq += "->" + "".join(symbols[v] for v in net.result)
    shapes = [tuple(sizes[v] for v in f) for f in net.factors]
    return opt_einsum.contract_path(eq, *shapes, shapes=True, optimize="auto-hq")[0]


def cotengra_path(net, seconds, method):
    import cotengra
    if method == "greedy":
        return cotengra.array_contract_path(net.factors, net.result, net.sizes, optimize="greedy")
    opt = cotengra.HyperOptimizer(methods=["greedy", "labels"] if not have("kahypar")
                                  else ["greedy", "kahypar"], minimize="flops", max_time=seconds,
                                  max_repeats=10 ** 6, parallel=False, progbar=False,
                                  on_trial_error="ignore", reconf_opts={})
    return cotengra.array_contract_path(net.factors, net.result, net.sizes, optimize=opt)


def have(module):
    import importlib.util
    return importlib.util.find_spec(module) is not None


def contract(net, arrays, path):
    """Contracts a network with NumPy: two at a time, by transpositions and matrix products."""
    import numpy as np
    held = {}
    for f in list(net.factors) + [net.result]:
        for v in set(f):
            held[v] = held.get(v, 0) + 1
    items = [(list(f), a) for f, a in zip(net.factors, arrays)]

    def pair(x, y):
        (a, p), (b, q) = x, y
        common = [v for v in a if v in b]
        for v in common:
            held[v] -= 1
        summed = [v for v in common if held[v] == 1]
        batch = [v for v in common if held[v] > 1]
        for v in [v for v in a if held[v] == 1 and v not in b]:
            p = p.sum(a.index(v))
            a = [u for u in a if u != v]
        for v in [v for v in b if held[v] == 1 and v not in a]:
            q = q.sum(b.index(v))
            b = [u for u in b if u != v]
        if not batch:
            out = [v for v in a if v not in common] + [v for v in b if v not in common]
            return out, np.tensordot(p, q, ([a.index(v) for v in summed],
                                            [b.index(v) for v in summed]))
        rows = [v for v in a if v not in common]
        cols = [v for v in b if v not in common]
        size = lambda vs: math.prod(net.sizes[v] for v in vs)
        p = p.transpose([a.index(v) for v in batch + rows + summed])
        q = q.transpose([b.index(v) for v in batch + summed + cols])
        p = p.reshape(size(batch), size(rows), size(summed))
        q = q.reshape(size(batch), size(summed), size(cols))
        out = batch + rows + cols
        return out, np.matmul(p, q).reshape([net.sizes[v] for v in out])

    for step in path:
        parts = [items.pop(k) for k in sorted(step, reverse=True)]
        while len(parts) > 1:
            parts.append(pair(parts.pop(), parts.pop()))
        items.append(parts[0])
    vars, value = items[0]
    for v in [v for v in vars if v not in net.result]:
        value = value.sum(vars.index(v))
        vars = [u for u in vars if u != v]
    return value.transpose([vars.index(v) for v in net.result])


def statement(net):
    left = "Y(%s)" % ",".join(net.result) if net.result else "Y"
    return left + " = " + "*".join(
        "A%d(%s)" % (k, ",".join(f)) for k, f in enumerate(net.factors))


def distaff(net, path, seconds, arrays=None, folder=None):
    """Returns the multiply-adds of Distaff's plan or, with arrays, the value and the seconds."""
    flags = []
    for v, n in net.sizes.items():
        flags += ["-d=%s:%d" % (v, n)]
    for k in range(len(net.factors)):
        flags += ["-i=A%d:%s/A%d.npy" % (k, folder, k) if arrays else "-g=A%d:dense" % k]
    if not arrays:
        out = subprocess.run([path, "compile", statement(net), "--emit=network"] + flags,
                             capture_output=True, text=True, check=True).stdout
        return float(re.search(r"^total +([0-9.e+]+) multiply-adds", out, re.M).group(1))
    import numpy as np
    for k, a in enumerate(arrays):
        np.save("%s/A%d.npy" % (folder, k), a)
    at = time.time()
    subprocess.run([path, "run", statement(net), "-q", "-o=Y:%s/Y.npy" % folder] + flags, check=True)
    took = time.time() - at
    return np.load("%s/Y.npy" % folder), took


def run(net, a, peers):
    """Contracts a network with Distaff and with NumPy along the peers' paths."""
    import numpy as np
    r = np.random.default_rng(5)
    arrays = [r.random([net.sizes[v] for v in f]) - 0.25 for f in net.factors]
    with tempfile.TemporaryDirectory() as folder:
        ours, took = distaff(net, a.distaff, a.seconds, arrays, folder)
    row, ratios = "%-16s %9.2fs" % (net.name, took), {}
    for p, find in peers.items():
        at = time.time()
        path = find(net, a.seconds)
        if cost(net, path) > 1e10:
            row += " %9s " % "-"
            continue
        value = contract(net, arrays, path)
        other = time.time() - at
        row += " %9.2fs" % other
        ratios[p] = took / other
        scale = max(float(np.max(np.abs(value))), 1e-300)
        if float(np.max(np.abs(ours - value))) > 1e-6 * scale:
            row += " VALUES DIFFER"
    print(row, flush=True)
    return ratios


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--distaff", default="distaff")
    flags.add_argument("--seconds", type=float, default=1)
    flags.add_argument("--only", default="")
    flags.add_argument("--run", action="store_true")
    flags.add_argument("--list")
    flags.add_argument("--trees", help="FILE of lines NAME MULTIPLY-ADDS, instead of distaff")
    a = flags.parse_args()
    nets = [n for n in networks() if a.only in n.name]
    if a.list:
        text = []
        for n in nets:
            number = {v: k for k, v in enumerate(n.sizes)}
            text.append({"Name": n.name, "Sizes": list(n.sizes.values()),
                         "In": [[number[v] for v in f] for f in n.factors],
                         "Out": [number[v] for v in n.result]})
        with open(a.list, "w") as f:
            json.dump(text, f)
        return
    ours = {}
    if a.trees:
        for line in open(a.trees):
            w = line.split()
            if len(w) >= 2:
                ours[w[0]] = float(w[1])
    peers = {"opt_einsum": opt_einsum_path,
             "greedy": lambda n, s: cotengra_path(n, s, "greedy"),
             "hyper": lambda n, s: cotengra_path(n, s, "hyper")}
    print("%-16s %6s %10s" % ("network", "tensor", "distaff") +
          "".join(" %16s" % p for p in peers))
    logs = {p: [] for p in peers}
    for n in nets:
        own = ours.get(n.name) if a.trees else distaff(n, a.distaff, a.seconds)
        row = "%-16s %6d %10.3g" % (n.name, len(n.factors), own or float("nan"))
        for p, find in peers.items():
            at = time.time()
            path = find(n, a.seconds)
            took = time.time() - at
            c = cost(n, path)
            row += " %9.3g %5.1fs" % (c, took)
            if own:
                logs[p].append(math.log(own / c))
        print(row, flush=True)
    if a.run:
        times = {p: [] for p in peers}
        for n in nets:
            if distaff(n, a.distaff, a.seconds) < 1e10:
                for p, x in run(n, a, peers).items():
                    times[p].append(math.log(x))
        for p, l in times.items():
            print("seconds of distaff / %s: geometric mean %.3f, worst %.3f" %
                  (p, math.exp(sum(l) / len(l)), math.exp(max(l))))
    for p, l in logs.items():
        if l:
            print("multiply-adds of distaff / %s: geometric mean %.3f, worst %.3f" %
                  (p, math.exp(sum(l) / len(l)), math.exp(max(l))))


if __name__ == "__main__":
    main()
