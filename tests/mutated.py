#!/usr/bin/env python3
"""Damaged programs, optimised and written, with the stock runtime as judge.

    mutated.py --etinspect BIN --etrun ETRUN --mutate TOOL_MUTATE SEED COUNT FILE...

FILEs lie in case folders. Each mutant that opens is given to `--optimize -o`: that ends with status 0, 3 or 4, and
what it wrote is run by etrun when it runs the mutant. A mutant whose report says `will_not_load` or `will_crash` is
left out there: that it runs is luck. Exit 1 when one fails; it is left in the folder that is named.
"""
import argparse, collections, glob, json, os, shutil, subprocess, sys, tempfile


def run(argv):
    try:
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
        return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')
    except subprocess.TimeoutExpired:
        return -1, '', 'no end after 60 s'


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def warned(report):
    try:
        codes = {w['code'] for m in json.loads(report)['methods'] for w in m['warnings']}
    except ValueError:
        return False
    return bool(codes & {'will_not_load', 'will_crash'})


def judge(opt, mutant, inputs):
    """What became of it; a word in capitals is a failure."""
    out = mutant + '.out'
    code, report, err = run([opt.etinspect, '--report=json', '--optimize', '--allow-worse', '-o', out, mutant])
    if code not in (0, 3, 4):
        return f'DIED with {code}: {err[-200:]}'
    if os.path.exists(out) != (code == 0):
        return f'STATUS {code}, and the file is {"there" if code else "not there"}'
    if code or read(out) == read(mutant):
        return 'refused' if code else 'same'
    if warned(report):
        return 'warned of'
    words = [w for i in inputs for w in ('--in', i)] + ['--tol', '1e30']
    if run([opt.etrun, mutant] + words)[0]:
        return 'not run as it was either'
    code, said, _ = run([opt.etrun, out] + words)
    return f'REJECTED by the runtime: {said.strip()}' if code else 'runs'


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('etinspect', 'etrun', 'mutate'):
        p.add_argument('--' + name, required=True)
    p.add_argument('seed')
    p.add_argument('count')
    p.add_argument('files', nargs='+')
    opt = p.parse_args()
    folder, tally, failed = tempfile.mkdtemp(), collections.Counter(), 0
    subprocess.run([opt.mutate, '--to', folder, opt.seed, opt.count] + opt.files, check=True, stdout=subprocess.DEVNULL)
    for mutant in sorted(glob.glob(os.path.join(folder, '*.pte'))):
        file = opt.files[int(os.path.basename(mutant)[:6]) % len(opt.files)]
        end = judge(opt, mutant, sorted(glob.glob(os.path.join(os.path.dirname(file), 'in*.npy'))))
        tally[end.split()[0] if end[0].isupper() else end] += 1
        if end[0].isupper():
            failed += 1
            print(f'{mutant} of {file}: {end}', flush=True)
            continue
        for made in glob.glob(mutant + '*'):
            os.remove(made)
    print(', '.join(f'{n} {end}' for end, n in tally.most_common()))
    if not failed:
        shutil.rmtree(folder)
    return failed > 0 or not tally


if __name__ == '__main__':
    sys.exit(main())
