"""Benchmarks of the tether binary beside the Python package: medians over repeated runs of whole processes.

Started by dev/bench, which builds and sets TETHER_BIN, JJ_BIN (ours), STOCK_JJ_BIN, TETHER_ORACLE and TETHER_SCAN.
A line that misses its budget ends in MISSED and the run exits 1.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

OURS = os.environ["TETHER_BIN"]
PEER = os.environ.get("TETHER_ORACLE")
SCAN = os.environ["TETHER_SCAN"]
JJ = os.environ["JJ_BIN"]
STOCK_JJ = os.environ["STOCK_JJ_BIN"]
DEVNULL = os.open(os.devnull, os.O_RDWR)
missed = []


def hermetic(base):
    """A home, an identity and nothing else of the user's configuration."""
    config = os.path.join(base, "gitconfig")
    with open(config, "w", encoding="utf8") as f:
        f.write("[user]\n\tname = Bench\n\temail = bench@example.org\n[init]\n\tdefaultBranch = main\n"
                "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")
    jj = os.path.join(base, "jj.toml")
    with open(jj, "w", encoding="utf8") as f:
        f.write('[user]\nname = "Bench"\nemail = "bench@example.org"\n[ui]\npaginate = "never"\n')
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "TMPDIR")}
    return {**keep, "HOME": base, "GIT_CONFIG_GLOBAL": config, "GIT_CONFIG_NOSYSTEM": "1", "TETHER_NATIVE": "0",
            "JJ_CONFIG": jj, "TETHER_JJ": STOCK_JJ}


def once(argv, cwd, env):
    """Seconds and peak memory (MB) of one process; its output is thrown away."""
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=[
        (os.POSIX_SPAWN_DUP2, DEVNULL, 0), (os.POSIX_SPAWN_DUP2, DEVNULL, 1), (os.POSIX_SPAWN_DUP2, DEVNULL, 2)])
    _, status, usage = os.wait4(pid, 0)
    took = time.perf_counter() - began
    return took, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def measure(argv, cwd, env, runs, warmup=2, expect=(0,)):
    argv = [shutil.which(argv[0]) or argv[0], *argv[1:]]
    os.chdir(cwd)
    for _ in range(warmup):
        once(argv, cwd, env)
    results = [once(argv, cwd, env) for _ in range(runs)]
    for _, _, code in results:
        if code not in expect:
            raise SystemExit(f"{' '.join(argv)} in {cwd}: exit {code}")
    return statistics.median(r[0] for r in results), max(r[1] for r in results)


def line(name, ours, budget, memory=None, memory_budget=None, peer=None, peer_name="python", ratio=None):
    """One row. `ratio`: at least so many times faster than the peer (below 1: at most 1/ratio of its time)."""
    bad = []
    if budget is not None and ours > budget:
        bad.append(f"budget {budget * 1000:.0f} ms")
    if memory_budget is not None and memory > memory_budget:
        bad.append(f"memory budget {memory_budget} MB")
    text = f"{name:<34} ours {ours * 1000:9.1f} ms"
    if memory is not None:
        text += f" {memory:6.0f} MB"
    if peer is not None:
        text += f"   {peer_name} {peer * 1000:9.1f} ms   ratio {peer / ours:6.1f}x"
        if ratio is not None and peer / ours < ratio:
            bad.append(f"ratio {ratio}x")
    if bad:
        text += "   MISSED " + ", ".join(bad)
        missed.append(name)
    print(text, flush=True)


def run(argv, cwd, env, **kwargs):
    done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, **kwargs)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} in {cwd}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def git_repo(path, env, files=3):
    os.makedirs(path)
    run(["git", "init", "-q", "-b", "main"], path, env)
    for i in range(files):
        with open(os.path.join(path, f"f{i}.py"), "w", encoding="utf8") as f:
            f.write(f"print({i})\n")
    run(["git", "add", "-A"], path, env)
    run(["git", "commit", "-q", "-m", "code"], path, env)


def dataset(path, env):
    os.makedirs(path)
    run(["git", "init", "-q", "-b", "main"], path, env)
    run([OURS, "init"], path, env)


def jj_dataset(path, env, commits):
    """A dataset in a jj repository with a linear history of code on `main`."""
    os.makedirs(path)
    run(["git", "init", "-q", "-b", "main"], path, env)
    fast_import(path, env, commits, new=True)
    run(["git", "repack", "-q", "-a", "-d"], path, env)
    run([STOCK_JJ, "git", "init", "--colocate", "."], path, env)
    run([STOCK_JJ, "new", "main"], path, env)
    run([OURS, "init"], path, env)


def fast_import(path, env, commits, new=False, time=1_600_000_000):
    """Commits on `main`, each with a change of one file when `new`, else without any."""
    stream = []
    for i in range(commits):
        stream.append(f"commit refs/heads/main\ncommitter B <b@example.org> {time + i} +0000\ndata 1\nx\n")
        if i == 0 and not new:
            stream.append("from refs/heads/main^0\n")
        if new:
            text = f"print({i})\n"
            stream.append(f"M 644 inline src/f{i % 100}.py\ndata {len(text)}\n{text}\n")
        stream.append("\n")
    done = subprocess.run(["git", "fast-import", "--quiet"], cwd=path, env=env, input="".join(stream), text=True)
    if done.returncode:
        raise SystemExit("git fast-import failed")


def five_objects(base, env, make=dataset):
    """A dataset of 5 local objects: two directories, a file, two code repositories."""
    ds = os.path.join(base, "ds")
    make(ds, env)
    for name in ("raw", "plates"):
        os.makedirs(os.path.join(base, name))
        for i in range(50):
            with open(os.path.join(base, name, f"w{i}.bin"), "wb") as f:
                f.write(os.urandom(1000))
        run([OURS, "add", name, "--kind", "file", os.path.join(base, name)], ds, env)
    with open(os.path.join(base, "counts.csv"), "w", encoding="utf8") as f:
        f.write("a,b\n1,2\n")
    run([OURS, "add", "counts.csv", "--kind", "file", os.path.join(base, "counts.csv")], ds, env)
    for name in ("code", "lib"):
        git_repo(os.path.join(base, name), env)
        run([OURS, "add", name, "--kind", "git", os.path.join(base, name)], ds, env)
    run([OURS, "commit", "-m", "base"], ds, env)
    return ds


def tree_of(path, count, size=64, per_dir=1000):
    for start in range(0, count, per_dir):
        folder = os.path.join(path, f"d{start // per_dir:05}")
        os.makedirs(folder)
        for i in range(start, min(start + per_dir, count)):
            fd = os.open(os.path.join(folder, f"file-{i:07}.bin"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            os.write(fd, i.to_bytes(8, "big") * (size // 8))
            os.close(fd)


def bench_version(base, env):
    took, memory = measure([OURS, "--version"], base, env, 60)
    peer = measure([PEER, "--version"], base, env, 7)[0] if PEER else None
    line("--version", took, 0.005, memory, peer=peer)


def bench_status(base, env):
    ds = five_objects(base, env)
    took, memory = measure([OURS, "status"], ds, env, 60)
    peer = measure([PEER, "status"], ds, env, 9)[0] if PEER else None
    line("status, 5 objects", took, 0.010, memory, peer=peer, ratio=20)
    took, memory = measure([OURS, "status", "--snapshot"], ds, env, 30)
    peer = measure([PEER, "status", "--snapshot"], ds, env, 5)[0] if PEER else None
    line("status --snapshot, 5 objects", took, None, memory, peer=peer)


def bench_status1000(base, env):
    ds = os.path.join(base, "ds")
    dataset(ds, env)
    data = os.path.join(base, "data")
    os.makedirs(data)
    objects = os.path.join(ds, ".tether", "objects")
    os.makedirs(objects, exist_ok=True)
    for i in range(1000):
        path = os.path.join(data, f"f{i}.csv")
        with open(path, "w", encoding="utf8") as f:
            f.write(f"{i}\n")
        with open(os.path.join(objects, f"f{i}.toml"), "w", encoding="utf8") as f:
            f.write(f'key = "f{i}"\nkind = "file"\nrecoverable = true\n\n[locator]\nuri = "{path}"\n\n'
                    '[policy]\nfile = "immutable"\npin = "native"\n')
    run([OURS, "commit", "-m", "thousand"], ds, env)
    took, memory = measure([OURS, "status"], ds, env, 30)
    peer = measure([PEER, "status"], ds, env, 5)[0] if PEER else None
    line("status, 1,000 objects", took, 0.040, memory, peer=peer)


def warm(base, env, count, budget, memory_budget, runs, with_git):
    data = os.path.join(base, "data")
    tree_of(data, count)
    ds = os.path.join(base, "ds")
    dataset(ds, env)
    run([OURS, "add", "data", "--kind", "file", data], ds, env)
    time.sleep(2.5)  # files hashed within two seconds of their last change are read again
    run([OURS, "status", "--snapshot"], ds, env)
    took, memory = measure([OURS, "status", "--snapshot"], ds, env, runs, warmup=1)
    peer, peer_name, ratio = None, "git status", None
    if with_git:
        plain = os.path.join(base, "plain")
        os.makedirs(plain)
        run(["git", "init", "-q"], plain, env)
        shutil.move(data, os.path.join(plain, "data"))
        run(["git", "add", "-A"], plain, env)
        run(["git", "commit", "-q", "-m", "all"], plain, env)
        peer = measure(["git", "status", "--porcelain"], plain, env, 7)[0]
        ratio = 1.0
    line(f"warm status --snapshot, {count:,} files", took, budget, memory, memory_budget, peer, peer_name, ratio)


def bench_warm100k(base, env):
    warm(base, env, 100_000, 0.150, None, 9, True)


def bench_warm1m(base, env):
    warm(base, env, 1_000_000, 1.5, 400, 5, False)


def bench_firstscan(base, env):
    data = os.path.join(base, "data")
    os.makedirs(data)
    block = os.urandom(1 << 20)
    for i in range(64):
        with open(os.path.join(data, f"big{i}.bin"), "wb") as f:
            for _ in range(24):
                f.write(block)
    tree_of(os.path.join(data, "small"), 20_000, 4096)
    ds = os.path.join(base, "ds")
    dataset(ds, env)
    run([OURS, "add", "data", "--kind", "file", data], ds, env)
    cold, plain = [], []
    for _ in range(5):
        shutil.rmtree(os.path.join(ds, ".tether", "cache"), ignore_errors=True)
        cold.append(measure([OURS, "status", "--snapshot"], ds, env, 1, warmup=0)[0])
        plain.append(measure([SCAN, "hash", data], ds, env, 1, warmup=0)[0])
    line("first scan, 1.6 GB in 20,064 files", statistics.median(cold), None, peer=statistics.median(plain),
         peer_name="hashing alone", ratio=1 / 1.3)


def bench_diff(base, env):
    data = os.path.join(base, "data")
    tree_of(data, 100_000)
    ds = os.path.join(base, "ds")
    dataset(ds, env)
    run([OURS, "add", "data", "--kind", "file", data, "--file", "versioned"], ds, env)
    run([OURS, "commit", "-m", "one"], ds, env)
    for i in range(0, 100_000, 1000):
        with open(os.path.join(data, f"d{i // 1000:05}", f"file-{i:07}.bin"), "wb") as f:
            f.write(b"changed")
    # The second state: registered anew, since only `pull` moves a directory that was committed.
    run([OURS, "remove", "data"], ds, env)
    run([OURS, "add", "data", "--kind", "file", data, "--file", "versioned"], ds, env)
    run([OURS, "commit", "-m", "two"], ds, env)
    argv = ["diff", "HEAD~1", "HEAD", "--content"]
    took, memory = measure([OURS, *argv], ds, env, 20)
    peer = measure([PEER, *argv], ds, env, 3)[0] if PEER else None
    line("diff --content, 100,000 paths", took, 0.060, memory, peer=peer)


def long_history(base, env):
    """A git dataset with 10,000 commits, 500 of them of the dataset."""
    ds = five_objects(base, env)
    code = os.path.join(base, "code")
    for i in range(500):
        head = run(["git", "rev-parse", "HEAD"], code, env).strip()
        tree = run(["git", "rev-parse", "HEAD^{tree}"], code, env).strip()
        new = run(["git", "commit-tree", "-p", head, "-m", f"c{i}", tree], code, env).strip()
        run(["git", "update-ref", "refs/heads/main", new, head], code, env)
        run([OURS, "commit", "-m", f"dataset commit {i}"], ds, env)
        fast_import(ds, env, 19, time=1_700_000_000 + i * 20)
    run(["git", "repack", "-q", "-a", "-d"], ds, env)
    run(["git", "commit-graph", "write", "--reachable"], ds, env)
    return ds


def bench_verify(base, env):
    ds = long_history(base, env)
    count = run(["git", "rev-list", "--count", "--all"], ds, env).strip()
    argv = ["verify", "--all-history"]
    took, memory = measure([OURS, *argv], ds, env, 15)
    peer = measure([PEER, *argv], ds, env, 3, warmup=1, expect=(0, 1))[0] if PEER else None
    line(f"verify --all-history, {count} commits", took, 0.150, memory, peer=peer)


def bench_jj(base, env):
    ds = five_objects(base, env, lambda path, env: jj_dataset(path, env, 10_000))
    took, memory = measure([OURS, "status"], ds, env, 60)
    peer = measure([PEER, "status"], ds, env, 5)[0] if PEER else None
    line("jj: status, 10,000 commits", took, 0.025, memory, peer=peer, ratio=15)
    jj = measure([JJ, "status"], ds, env, 60)[0]
    took, memory = measure([JJ, "tether", "status"], ds, env, 60)
    line("jj tether status", took, jj + 0.010, memory, peer=jj, peer_name="jj status")
    stock = measure([STOCK_JJ, "status"], ds, env, 60)[0]
    line("jj status", jj, None, peer=stock, peer_name="stock jj")


def bench_jjverify(base, env):
    ds = long_history(base, env)
    shutil.rmtree(os.path.join(ds, ".git", "tether"))
    run([STOCK_JJ, "git", "init", "--colocate", "."], ds, env)
    run([STOCK_JJ, "new", "main"], ds, env)
    count = len(run([STOCK_JJ, "log", "--no-graph", "-r", "all()", "-T", "'x'"], ds, env))
    argv = ["verify", "--all-history"]
    run([OURS, *argv], ds, env)
    cold, memory = [], 0
    for _ in range(5):
        os.remove(os.path.join(ds, ".git", "tether-history.idx"))
        took, memory = measure([OURS, *argv], ds, env, 1, warmup=0)
        cold.append(took)
    line(f"jj: verify --all-history cold, {count}", statistics.median(cold), 0.8, memory)
    took, memory = measure([OURS, *argv], ds, env, 15)
    peer = measure([PEER, *argv], ds, env, 2, warmup=0, expect=(0, 1))[0] if PEER else None
    line(f"jj: verify --all-history warm, {count}", took, 0.150, memory, peer=peer)


ALL = {name[6:]: function for name, function in list(globals().items()) if name.startswith("bench_")}


def main():
    names = sys.argv[1:] or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise SystemExit(f"no such scenario: {' '.join(unknown)}; there are {' '.join(ALL)}")
    print(f"{os.cpu_count()} cores; medians of whole processes")
    for name in names:
        base = tempfile.mkdtemp(prefix=f"tether-bench-{name}.")
        try:
            ALL[name](base, hermetic(base))
        finally:
            os.chdir("/")
            shutil.rmtree(base, ignore_errors=True)
    if missed:
        raise SystemExit(f"missed: {', '.join(missed)}")


main()
