#!/usr/bin/env python3
"""How long our engines take beside the stock runtime, on one thread, both on the same file in one run.

    speed.py --run TOOL_RUN --one TOOL_ONE --etrun ETRUN [--rounds N] [CASES] [PATTERN]...

First the kernels of tests/speed.txt, each as a program of one call; then, when a folder of cases is given, the
delegates of its xnnpack.pte files that take half a millisecond or more. The two runners take turns; the ratio of
a line is the median over its rounds. A line is measured again, with more rounds, before it counts as too slow.
Exit 1 when one is. PATTERN chooses lines by their kernel, or cases by their name.
"""
import argparse, fnmatch, glob, json, os, shlex, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SLACK = 1.08        # what two runs of the same code differ by
DELEGATE = 1.05
LEAST_MS = 0.5      # a delegate below this is not timed


def once(runner, words, repeat):
    p = subprocess.run([runner] + words + ['--threads', '1', '--repeat', str(repeat), '--tol', '1e30'],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300)
    lines = [l for l in p.stdout.decode(errors='replace').splitlines() if l.startswith('{')]
    out = json.loads(lines[-1]) if lines else {}
    return out['median_ms'] if out.get('ok') else None


def ratio(ours, theirs, words, rounds):
    """(median of ours / theirs, our ms, their ms), or None when one of them does not run."""
    first = once(theirs, words, 3)
    if first is None or once(ours, words, 3) is None:
        return None
    repeat = max(3, min(200, int(60 / max(first, 1e-3))))
    a, b = [], []
    for _ in range(rounds):
        a.append(once(ours, words, repeat))
        b.append(once(theirs, words, repeat))
    return statistics.median(x / y for x, y in zip(a, b)), min(a), min(b)


def judge(name, limit, ours, theirs, words, rounds):
    r = ratio(ours, theirs, words, rounds)
    if r and r[0] > limit * SLACK:
        r = ratio(ours, theirs, words, rounds * 3)
    if r is None:
        print(f'not run            {name}', flush=True)
        return False
    slow = r[0] > limit * SLACK
    print(f'{"SLOW" if slow else "ok":4} {r[0]:6.2f} of {limit:4.2f} {r[1]:9.3f} ms {r[2]:9.3f} ms  {name}', flush=True)
    return not slow


def kernels(args, patterns):
    bad = total = 0
    for line in open(os.path.join(HERE, 'speed.txt')):
        if line.startswith('#') or not line.strip():
            continue
        limit, call = line.strip().split(' ', 1)
        if patterns and not any(fnmatch.fnmatch(call.split()[0], p) for p in patterns):
            continue
        with tempfile.TemporaryDirectory() as d:
            prefix = os.path.join(d, 'one')
            subprocess.run([args.one, prefix] + shlex.split(call.replace("'", '"\'"')), check=True)
            words = [prefix + '.pte']
            for i in range(len(glob.glob(prefix + '*.npy'))):
                words += ['--in', f'{prefix}{i}.npy']
            total += 1
            bad += not judge(call, float(limit), args.run, args.etrun, words, args.rounds)
    return bad, total


def delegates(args, patterns):
    bad = total = 0
    for path in sorted(glob.glob(os.path.join(args.cases, '*', '*', 'xnnpack.pte'))):
        folder = os.path.dirname(path)
        name = os.path.relpath(folder, args.cases)
        inputs = sorted(glob.glob(os.path.join(folder, 'in*.npy')))
        if patterns and not any(fnmatch.fnmatch(name, p) for p in patterns):
            continue
        words = [path] + [w for i in inputs for w in ('--in', i)]
        first = once(args.etrun, words, 3)
        if first is None or first < LEAST_MS:
            continue
        total += 1
        bad += not judge(name, DELEGATE, args.run, args.etrun, words, args.rounds)
    return bad, total


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('run', 'one', 'etrun'):
        ap.add_argument('--' + name, required=True)
    ap.add_argument('--rounds', type=int, default=5)
    ap.add_argument('cases', nargs='?')
    ap.add_argument('patterns', nargs='*')
    args = ap.parse_args()
    print('     ratio limit      ours        stock')
    bad, total = kernels(args, args.patterns)
    if args.cases:
        more = delegates(args, args.patterns)
        bad, total = bad + more[0], total + more[1]
    print(f'{total} timed, {bad} too slow')
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
