#!/usr/bin/env python3
"""How long programs written with --optimize take in the stock runtime, beside the exporter's, on one thread.

    latency.py --etinspect BIN --etrun ETRUN [--rounds N] FOLDER... [--only PATTERN]...

FOLDERs hold cases as exportcase makes them. For both files of a case, the written program and xnnpack.pte take turns;
a line's ratio is the median over its rounds of (written / xnnpack.pte). A line from half a millisecond on may be 5 %
slower, a shorter one 5 us; it is measured again, with more rounds, before it counts as a miss. Where a fold was
applied, the program must also be as many times faster than the file it comes from as it has fewer operations, to 5 us.
Exit 1 when the median of the ratios is above 1.05, or when a short line or a fold misses. PATTERN chooses cases.
"""
import argparse, fnmatch, os, statistics, sys, tempfile

import speed
from conformance import Case

SHORT_MS, RATIO, MORE_MS = 0.5, 1.05, 0.005


def operations(methods):
    return sum(n['cost']['flops'] for m in methods for n in m['nodes'])


def words(case, path, data):
    return [path] + [w for d in data for w in ('--data', d)] + \
        [w for f in case.sequence() for w in ['--call', f['method']] + [v for i in f['inputs'] for v in ('--in', case.path(i))]]


def pair(etrun, new, old, rounds):
    """(median of new / old, medians in ms of both), or None when one does not run."""
    first = speed.once(etrun, old, 3)
    if first is None or speed.once(etrun, new, 3) is None:
        return None
    repeat = max(3, min(500, int(60 / max(first, 1e-3))))
    a, b = [], []
    for k in range(rounds):
        for runner, times in ((new, a), (old, b))[::1 if k % 2 else -1]:
            times.append(speed.once(etrun, runner, repeat))
    return statistics.median(x / y for x, y in zip(a, b)), statistics.median(a), statistics.median(b)


def judged(etrun, new, old, rounds, bad):
    r = pair(etrun, new, old, rounds)
    return pair(etrun, new, old, rounds * 3) if r and bad(r) else r


def slow(r):
    return r[0] > RATIO if r[2] >= SHORT_MS else r[1] - r[2] > MORE_MS


class Lines:
    def __init__(self, opt):
        self.opt, self.ratios, self.missed, self.failed, self.total = opt, [], 0, 0, 0

    def say(self, kind, r, fine, note):
        print(f'{kind if fine else "MISS":6} {r[0]:6.3f} {r[1]:10.4f} ms {r[2]:10.4f} ms  {note}', flush=True)

    def beside(self, case, file, written, theirs):
        r = judged(self.opt.etrun, written, theirs, self.opt.rounds, slow)
        if not r:
            return print('not run', case.name, file, flush=True)
        self.total += 1
        self.missed += slow(r)
        self.failed += slow(r) and r[2] < SHORT_MS
        if r[2] >= SHORT_MS:
            self.ratios.append(r[0])
        self.say('ok' if r[2] >= SHORT_MS else 'short', r, not slow(r), f'{case.name} {file}')

    def folded(self, case, file, written, given, report):
        after = operations(report['result']['methods'])
        promised = operations(report['methods']) / after if after else 1
        late = lambda r: r[1] > r[2] / promised + (MORE_MS if r[2] < SHORT_MS else 0)
        r = judged(self.opt.etrun, written, given, self.opt.rounds, late)
        if r:
            fine = not late(r)
            self.failed += not fine
            self.say('fold', r, fine, f'{case.name} {file}: {1 / r[0]:.2f} times as fast, {promised:.2f} promised')

    def case(self, case, folder):
        theirs = case.path('xnnpack.pte')
        for file in ('portable.pte', 'xnnpack.pte'):
            info = case.info['files'].get(file, {})
            if 'methods' not in info or any(k in info for k in ('run_error', 'runtime_error')) or not os.path.exists(theirs):
                continue
            out = os.path.join(folder, case.name.replace('/', '-') + '-' + file)
            report, why = case.report(['--optimize', '-o', out, '--allow-worse', '--tolerance', str(case.file_tolerance()),
                                       case.path(file)] + case.data(file))
            if not report:
                print('not written', case.name, file, why, flush=True)
                continue
            written = words(case, out, case.written_data(file, out))
            self.beside(case, file, written, words(case, theirs, case.data('xnnpack.pte')))
            if 'fold' in report['result']['applied']:
                self.folded(case, file, written, words(case, case.path(file), case.data(file)), report)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('etinspect', 'etrun'):
        ap.add_argument('--' + name, required=True)
    ap.add_argument('--rounds', type=int, default=5)
    ap.add_argument('--only', action='append', default=[])
    ap.add_argument('folders', nargs='+')
    opt = ap.parse_args()
    lines = Lines(opt)
    print('        ratio      written         before', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for root in opt.folders:
            for name in sorted(os.path.relpath(d, root) for d, _, files in os.walk(root) if 'case.json' in files):
                if not opt.only or any(fnmatch.fnmatch(name, p) for p in opt.only):
                    lines.case(Case(root, name, opt), folder)
    median = statistics.median(lines.ratios) if lines.ratios else 0
    print(f'{lines.total} programs, {len(lines.ratios)} of half a millisecond or more: median ratio {median:.3f}, '
          f'at most {RATIO}; {lines.missed} lines miss')
    return median > RATIO or lines.failed > 0 or not lines.total


if __name__ == '__main__':
    sys.exit(main())
