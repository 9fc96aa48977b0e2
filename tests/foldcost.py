#!/usr/bin/env python3
"""What a fold costs: time beside copying the weights that it reads three times, and memory on a program of 1 GB.

    foldcost.py --etinspect ETINSPECT --fold TOOL_FOLD --make TOOL_MAKE [CASES]

Time is a ratio of two things done in turns by one process; at most 2 is allowed. Memory is the largest resident set of
`etinspect --apply fold -o`, or of a process that it starts, at most 1.3 times the program. Exit 1 when either is more.
"""
import argparse, json, os, subprocess, sys, tempfile

TIME, MEMORY, LAYERS = 2.0, 1.3, 16


def time_of(tool, path):
    r = json.loads(subprocess.run([tool, path], stdout=subprocess.PIPE, check=True, text=True).stdout)
    ok = r['ratio'] <= TIME
    print(f'{"ok" if ok else "SLOW":4} {r["ratio"]:5.2f} of {TIME:.2f}  {r["fold_ms"]:8.2f} ms beside '
          f'{r["copies_ms"]:8.2f} ms for three copies of {r["bytes"] / 1e6:.1f} MB: {path}', flush=True)
    return ok


def memory_of(etinspect, path, folded):
    pid = os.spawnv(os.P_NOWAIT, etinspect, [etinspect, '--apply', 'fold', '-o', folded, path])
    _, status, usage = os.wait4(pid, 0)
    share = usage.ru_maxrss * 1024 / os.path.getsize(path)
    ok = status == 0 and share <= MEMORY
    print(f'{"ok" if ok else "MUCH":4} {share:5.2f} of {MEMORY:.2f}  {usage.ru_maxrss * 1024 / 1e6:.0f} MB resident, '
          f'folding and writing {os.path.getsize(path) / 1e6:.0f} MB', flush=True)
    return ok


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--etinspect', required=True)
    p.add_argument('--fold', required=True)
    p.add_argument('--make', required=True)
    p.add_argument('cases', nargs='?')
    a = p.parse_args()
    ok = True
    full = os.path.join(a.cases or '', 'seed/pos_conv_full/xnnpack.pte')
    if os.path.exists(full):
        ok = time_of(a.fold, full)
    with tempfile.TemporaryDirectory() as d:
        computed = os.path.join(d, 'computed.pte')
        subprocess.run([os.path.abspath(a.make), 'computed', str(LAYERS), computed], check=True)
        ok &= memory_of(a.etinspect, computed, os.path.join(d, 'folded.pte'))
    return not ok


if __name__ == '__main__':
    sys.exit(main())
