#!/usr/bin/env python3
"""Random programs with computed weights in the stock runtime, before and after each rewrite: one line a failure.

    seeded.py --etinspect BIN --seeded TOOL_SEEDED --etrun ETRUN [--first N] [--programs N]

Each program is run as it is; then folded, and optimized, written, loaded with full verification, and run on the same
input. Outputs must agree, and no file may store more tensor bytes than the one it comes from. What the stock runtime
does not run as it came (it has no 3-D convolution) is passed over.
"""
import argparse, os, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

import stored

TOLERANCE = {'fold': 1e-4, 'linear,fold,partition': 1e-3}


def run(argv):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    words = p.stdout.decode(errors='replace').strip().splitlines() + p.stderr.decode(errors='replace').strip().splitlines()
    return p.returncode, ' '.join(words[-1:])


def count(folder, prefix):
    return len([n for n in os.listdir(folder) if n.startswith(prefix)])


def call(opt, folder, program, data, words):
    argv = [opt.etrun, program] + [w for d in data for w in ('--data', d)]
    return run(argv + words)


def methods(opt, program):
    """A program has one or two; the stock runtime tells."""
    with open(program, 'rb') as f:
        return ['forward'] + (['decode'] if b'decode' in f.read() else [])


def check_seed(opt, root, seed):
    folder = os.path.join(root, str(seed))
    program, input = os.path.join(folder, 'program.pte'), os.path.join(folder, 'input.npy')
    data = [os.path.join(folder, d) for d in ('a.ptd', 'b.ptd')]
    names, folded = methods(opt, program), False
    for m in names:
        code, why = call(opt, folder, program, data, ['--out', f'{folder}/{m}', '--call', m, '--in', input])
        if code:
            return None, folded
    bad = []
    for k, (rewrite, tolerance) in enumerate(TOLERANCE.items()):
        out = f'{folder}/out{k}.pte'
        code, why = run([opt.etinspect, '--report=json', '--apply', rewrite, '--allow-worse', '-o', out, program] + data)
        if code:
            bad.append(f'{rewrite}: exit {code} {why}')
            continue
        now = [p if os.path.exists(p) else d for d, p in ((d, f'{folder}/out{k}.{os.path.basename(d)}') for d in data)]
        was_bytes, now_bytes = stored.content_bytes([program] + data), stored.content_bytes([out] + now)
        if now_bytes > was_bytes:
            bad.append(f'{rewrite}: {now_bytes} tensor bytes, {was_bytes} before')
        with open(out, 'rb') as f, open(program, 'rb') as g:
            folded |= not k and f.read() != g.read()
        for m in names:
            expect = [w for i in range(count(folder, f'{m}0_')) for w in ('--expect', f'{folder}/{m}0_{i}.npy')]
            code, why = call(opt, folder, out, now, ['--tol', str(tolerance), '--call', m, '--in', input] + expect)
            if code or not expect:
                bad.append(f'{rewrite}, {m}: exit {code} {why}')
    return bad, folded


def main():
    p = argparse.ArgumentParser()
    for name in ('etinspect', 'seeded', 'etrun'):
        p.add_argument('--' + name, required=True)
    p.add_argument('--first', type=int, default=1)
    p.add_argument('--programs', type=int, default=500)
    opt = p.parse_args()
    ran = failed = changed = 0
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(os.cpu_count()) as pool:
        seeds = range(opt.first, opt.first + opt.programs * 2)
        subprocess.run([opt.seeded, root, str(seeds[0]), str(seeds[-1])], check=True)
        for seed, (bad, folded) in zip(seeds, pool.map(lambda s: check_seed(opt, root, s), seeds)):
            ran += bad is not None
            failed += bool(bad)
            changed += folded
            for b in bad or []:
                print(f'FAIL seed {seed}: {b}', flush=True)
    print(f'{ran - failed} random programs passed, {failed} failed; {changed} of them folded')
    return 1 if failed or ran < opt.programs or not changed else 0


sys.exit(main())
