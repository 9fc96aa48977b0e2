#!/usr/bin/env python3
"""Conformance over case folders made by the real exporter: one line a case, a total, exit 1 on a failure.

    conformance.py --etinspect BIN --run TOOL_RUN --etrun ETRUN CASES [PATTERN]...

For portable.pte and xnnpack.pte of every case (and the files named in it):
  read       the report has the delegates and the left-out operators that the exporter counted
  portable   our portable kernels give the eager outputs, within the case's tolerance
  filed      the same with delegates through XNNPACK
  xnnpack    the same, partitioned anew
  fold       the fold verdicts are those of case.json (seed cases)
  linear     the linear verdicts are those of case.json (seed cases)
  reason     each operator that the reference declined is declined here for the same reason (tests/reasons.txt); in
             portable.pte too, where it has the operator, and where ours is not the better verdict
  parity     --apply linear,partition leaves out the operators that the real lowering left out, neither more nor
             fewer, but for the differences in tests/parity.txt
  after      --optimize leaves out no more operators, and makes no more delegates, than it must
  size       the written file is no larger than it may be
  bytes      it stores no more tensor bytes than the file it comes from, and no content twice
  memory     its planned memory is no larger than the exporter's
  etrun      it loads in the stock runtime, with full verification, and runs within tolerance
  sizes      where inputs are dynamic, it gives what the unchanged file gives, at small, middle and upper sizes
  again      --optimize finds nothing more to do in it
  same       with nothing to apply, the output is the input, byte for byte
Differences that are known stand in tests/conformance.known and tests/parity.txt, with their reason; one that is
listed there and does not happen is a failure too.
"""
import argparse, ast, collections, fnmatch, json, os, struct, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

import parity, stored

HERE = os.path.dirname(os.path.abspath(__file__))


def run(argv, timeout=120):
    try:
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=timeout)
        return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')
    except subprocess.TimeoutExpired:
        return -1, '', f'no end after {timeout} s'


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith('{'):
            return json.loads(line)
    return {}


def same_bytes(a, b):
    with open(a, 'rb') as f, open(b, 'rb') as g:
        return f.read() == g.read()


def npy_shape(path):
    with open(path, 'rb') as f:
        head = f.read(10)
        return list(ast.literal_eval(f.read(struct.unpack_from('<H', head, 8)[0]).decode())['shape'])


def npy_resized(path, shape, out):
    """Elements of PATH over and over, in another shape."""
    with open(path, 'rb') as f:
        b = f.read()
    head = 10 + struct.unpack_from('<H', b, 8)[0]
    info = ast.literal_eval(b[10:head].decode())
    each, n = int(info['descr'][2:]), 1
    for d in shape:
        n *= d
    info['shape'] = tuple(shape)
    text = repr(info).encode()
    text += b' ' * (63 - (10 + len(text)) % 64) + b'\n'
    with open(out, 'wb') as f:
        f.write(b[:8] + struct.pack('<H', len(text)) + text + (b[head:] * (n * each // max(len(b) - head, 1) + 1))[:n * each])
    return out


class Case:
    def __init__(self, root, name, opt):
        self.dir, self.name, self.opt = os.path.join(root, name), name, opt
        with open(os.path.join(self.dir, 'case.json')) as f:
            self.info = json.load(f)
        self.expect = self.info.get('expect')
        self.tolerance = self.expect['tolerance'] if self.expect else self.info['tolerance']
        self.failures = []
        self.differences = []  # of operators left out: ('+' or '-', operator)

    def path(self, name):
        return os.path.join(self.dir, name)

    def sequence(self):
        if 'sequence' in self.info:
            return self.info['sequence']
        if 'methods' in self.info:
            return [dict(m, method=k) for k, m in self.info['methods'].items()]
        return [{'method': 'forward', 'inputs': self.info['inputs'], 'outputs': self.info['outputs']}]

    def calls(self):
        """The words that tell etrun and tool_run what to call."""
        for c in self.sequence():
            yield '--call'
            yield c['method']
            for f in c['inputs']:
                yield from ('--in', self.path(f))
            for f in c['outputs']:
                yield from ('--expect', self.path(f))

    def fail(self, check, file, why):
        self.failures.append((check, file, ' '.join(str(why).split())[:240]))

    def data(self, file):
        return [self.path(p) for p in self.info['files'][file].get('ptd', {})]

    def written_data(self, file, out):
        """The data files that OUT needs, which was written from FILE: the same, or what was written beside it."""
        beside = [f'{os.path.splitext(out)[0]}.{os.path.basename(d)}' for d in self.data(file)]
        return [b if os.path.exists(b) else d for b, d in zip(beside, self.data(file))]

    def judge(self, check, file, argv, tolerance):
        code, out, err = run(argv + list(self.calls()) + ['--tol', str(tolerance)])
        if code:
            r = last_json(out)
            lines = [l for l in err.splitlines() if not l.startswith(('I ', 'W '))]
            why = r.get('step', '') + ' ' + r['error'] if 'error' in r else \
                f'off by {r["max_abs_diff"]}, tolerance {tolerance}' if 'max_abs_diff' in r else \
                f'exit {code} ' + (lines[-1] if lines else '')
            self.fail(check, file, why)

    def file_tolerance(self):
        """Where the stock runtime itself is further off than the tolerance (dynamic quantisation), so may we be."""
        wrong = ' '.join(self.expect['notes'].get('stock', [])) if self.expect else ''
        seen = [f.get('runtime_max_abs_diff') or 0 for f in self.info['files'].values()]
        for name, f in self.info['files'].items():
            for m in f.get('methods', {}).values():
                d = m.get('max_abs_diff') or 0
                seen += (d if isinstance(d, list) else [d]) if name not in wrong else []
        return max(self.tolerance, 1.5 * max(seen))

    def also(self, key):
        """Verdicts that case.json calls as right as its own: (verdict, reason)."""
        return [(v[key], v.get('reason')) for v in self.expect['notes'].get('also', {}).get(key, [])]

    def check_verdict(self, key, file, rows, words, want, reason):
        """rows: what the report says; words: the verdict that acts, the one that does not."""
        got = words[0] if any(r['verdict'] == words[0] for r in rows) else words[1] if rows else 'none'
        codes = [r['reason']['code'] for r in rows if r['reason']]
        fine = [(want, reason)] + self.also(key)
        if want != 'either' and not any(w == got and (not why or got != words[1] or why in codes) for w, why in fine):
            self.fail(key, file, f'{got} {codes}, expected {fine}')

    def report(self, argv):
        code, out, err = run([self.opt.etinspect, '--report=json'] + argv)
        if code:
            return None, f'exit {code} ' + (err.strip().splitlines() or [''])[-1]
        try:
            return json.loads(out), None
        except ValueError as e:
            return None, f'not JSON: {e}'

    def check_read(self, file, r):
        for name, want in self.info['files'][file]['methods'].items():
            got = next((m for m in r['methods'] if m['name'] == name), None)
            if not got:
                self.fail('read', file, f'no method {name}')
            elif got['left_out'] != want['left_out'] or len(got['delegates']) != want['delegates']:
                self.fail('read', file, f'{name}: {len(got["delegates"])} delegates, left out {got["left_out"]}')

    def check_verdicts(self, file, r):
        by_file = self.expect['notes'].get('by_file', {}).get(file, {})
        want = by_file.get('fold', self.expect['fold'])
        reason = by_file.get('reason', self.expect['reason'])
        self.check_verdict('fold', file, [f for m in r['methods'] for f in m['fold']], ('folds', 'stays'), want, reason)
        if file == 'portable.pte':
            self.check_verdict('linear', file, [l for m in r['methods'] for l in m['linear']], ('converts', 'stays'),
                               self.expect['linear'], self.expect['linear_reason'])

    def check_parity(self, folder):
        out = os.path.join(folder, self.name.replace('/', '-') + '-parity')
        real = self.info['files'].get('xnnpack.pte', {}).get('methods', {})
        if not real:
            return
        r, why = self.report(['--apply', 'linear,partition', '-o', out, '--allow-worse', '--tolerance', str(self.file_tolerance()),
                              self.path('portable.pte')] +
                             self.data('portable.pte'))
        if not r:
            return self.fail('parity', 'portable.pte', why)
        for m in r['result']['methods']:
            if m['name'] in real:
                more, fewer = parity.left_out(real[m['name']]['left_out'], m['left_out'])
                self.differences += [('+', op) for op in more] + [('-', op) for op in fewer]

    def check_reasons(self, file, methods):
        declined = parity.flat(self.info['files'].get('xnnpack.pte', {}).get('declined', []))
        check = self.opt.reasons.check_portable if file == 'portable.pte' else self.opt.reasons.check
        for op, why in check(declined, methods):
            self.fail('reason', file, f'{op}: {why}')

    def check_after(self, file, r):
        if self.expect:
            bounds = self.expect['after'] or {}
        else:
            x = self.info['files'].get('xnnpack.pte', {}).get('methods', {})
            bounds = {m: {'delegates_max': None, 'left_out': f['left_out']} for m, f in x.items()}
        for m in r['result']['methods'] if r.get('result') else r['methods']:
            b = bounds.get(m['name'])
            if not b:
                continue
            mine = collections.Counter(m['left_out'])
            spare = collections.Counter(b['left_out']) - mine
            more = mine - collections.Counter(b['left_out'])
            gemms = sum(spare[f'aten::{g}.out'] for g in ('mm', 'addmm', 'bmm'))
            if 'aten::linear.out' in more and more['aten::linear.out'] <= gemms:
                del more['aten::linear.out']
            if more:
                self.fail('after', file, f'{m["name"]} leaves out {sorted(more.elements())} as well')
            if b['delegates_max'] is not None and len(m['delegates']) > b['delegates_max']:
                self.fail('after', file, f'{m["name"]} has {len(m["delegates"])} delegates, at most {b["delegates_max"]}')

    def check_bytes(self, file, out, data):
        """data: what the written program needs."""
        x = self.info['files'].get('xnnpack.pte', {})
        if 'bytes' in x and os.path.getsize(out) > max(x['bytes'], self.info['files'][file]['bytes']) + 1024:
            self.fail('size', file, f'{os.path.getsize(out)} bytes, xnnpack.pte has {x["bytes"]}')
        was, now = stored.content_bytes([self.path(file)] + self.data(file)), stored.content_bytes([out] + data)
        twice = 0 if same_bytes(out, self.path(file)) else stored.Stored(out).twice()
        if now > was:
            self.fail('bytes', file, f'{now} tensor bytes, {file} has {was}')
        if twice:
            self.fail('bytes', file, f'{twice} tensor bytes are in the file twice')

    def check_memory(self, file, out):
        """Methods with delegates as the exporter makes them; a method that stayed as it was has its own plan."""
        bound = {}
        for f in ('xnnpack.pte', file):
            if os.path.exists(self.path(f)) and 'methods' in self.info['files'].get(f, {}):
                for m, n in stored.Stored(self.path(f)).planned.items():
                    bound.setdefault(m, n)
        for m, n in stored.Stored(out).planned.items():
            if n > bound[m]:
                self.fail('memory', file, f'{m} plans {n} bytes, the exporter {bound[m]}')

    def shapes(self, m, inputs):
        """Shapes to run a method at: dynamic dimensions as the example has them, and other sizes. Equal sizes at
        equal bounds are taken for one symbol."""
        have = [npy_shape(self.path(f)) for f in inputs]
        bounds = [i['shape'] if i.get('dynamic') else h for i, h in zip(m['inputs'], have)]
        symbols = {(d, b) for h, bound in zip(have, bounds) for d, b in zip(h, bound) if d != b}
        for pick in (lambda d, b: 1, lambda d, b: 2, lambda d, b: min(d, max(1, b // 2)), lambda d, b: (d + b) // 2,
                     lambda d, b: b):
            yield [[pick(d, b) if (d, b) in symbols else d for d, b in zip(h, bound)] for h, bound in zip(have, bounds)] \
                if symbols else None

    def check_sizes(self, file, r, out, data, folder):
        """The unchanged file decides which sizes a method admits."""
        for m in r['methods']:
            call = next((c for c in self.sequence() if c['method'] == m['name']), None)
            if not call or not any(i.get('dynamic') for i in m['inputs']):
                continue
            ran = 0
            for k, shapes in enumerate(self.shapes(m, call['inputs'])):
                if not shapes:
                    break
                prefix = os.path.join(folder, f'{self.name.replace("/", "-")}-{file}-{m["name"]}-{k}-')
                argv = ['--call', m['name']]
                for i, (f, shape) in enumerate(zip(call['inputs'], shapes)):
                    argv += ['--in', npy_resized(self.path(f), shape, f'{prefix}in{i}.npy')]
                code, _, _ = run([self.opt.etrun, self.path(file), '--out', prefix + 'out'] +
                                 [w for d in self.data(file) for w in ('--data', d)] + argv)
                if code:
                    continue
                ran += 1
                for i in range(len(m['outputs'])):
                    argv += ['--expect', f'{prefix}out0_{i}.npy'] if os.path.exists(f'{prefix}out0_{i}.npy') else []
                code, o, _ = run([self.opt.etrun, out, '--tol', str(self.file_tolerance())] +
                                 [w for d in data for w in ('--data', d)] + argv)
                if code:
                    self.fail('sizes', file, f'{m["name"]} at {shapes}: exit {code} {o.strip()}')
            if not ran:
                self.fail('sizes', file, f'{m["name"]} was not tried at another size')

    def check_same(self, file, folder):
        copy = os.path.join(folder, self.name.replace('/', '-') + '-same-' + file)
        r, why = self.report(['-o', copy, self.path(file)] + self.data(file))
        if not r:
            return self.fail('same', file, why)
        if not same_bytes(copy, self.path(file)):
            self.fail('same', file, 'other bytes')

    def check_again(self, file, out, data, folder):
        again = os.path.join(folder, self.name.replace('/', '-') + '-again-' + file)
        r, why = self.report(['--optimize', '-o', again, '--allow-worse', out] + data)
        if not r:
            return self.fail('again', file, why)
        if not same_bytes(again, out):
            self.fail('again', file, f'applied {r["result"]["applied"]} once more')

    def check_written(self, file, folder):
        out = os.path.join(folder, self.name.replace('/', '-') + '-' + file)
        r, why = self.report(['--optimize', '-o', out, '--allow-worse', '--tolerance', str(self.file_tolerance()), self.path(file)] +
                             self.data(file))
        if not r:
            return self.fail('after', file, why)
        self.check_after(file, r)
        data = self.written_data(file, out)
        self.check_bytes(file, out, data)
        self.check_memory(file, out)
        self.check_again(file, out, data, folder)
        self.check_same(file, folder)
        if not self.opt.etrun or any(k in self.info['files'][file] for k in ('run_error', 'runtime_error')):
            return
        self.judge('etrun', file, [self.opt.etrun, out] + [w for d in data for w in ('--data', d)], self.file_tolerance())
        self.check_sizes(file, r, out, data, folder)

    def check_file(self, file, folder):
        f = self.info['files'].get(file, {})
        if 'methods' not in f:
            return
        r, why = self.report([self.path(file)] + self.data(file))
        if not r:
            return self.fail('read', file, why)
        self.check_read(file, r)
        if self.expect:
            self.check_verdicts(file, r)
        if file == 'portable.pte':
            self.check_parity(folder)
        self.check_reasons(file, r['methods'])
        data = [w for d in self.data(file) for w in ('--data', d)]
        for engine in ('portable', 'filed', 'xnnpack'):
            if file != 'portable.pte' or engine != 'filed':
                self.judge(engine, file, [self.opt.run, self.path(file), '--engine', engine] + data, self.file_tolerance())
        self.check_written(file, folder)

    def check(self, folder):
        for file in ('portable.pte', 'xnnpack.pte'):
            try:
                self.check_file(file, folder)
            except (KeyError, TypeError, OSError) as e:
                self.fail('report', file, f'{type(e).__name__}: {e}')
        return self


def read_known(path):
    """Lines `CASE FILE CHECK REASON`, patterns allowed, # comments."""
    rows = []
    with open(path) as f:
        for line in f:
            words = line.split(None, 3)
            if words and not line.startswith('#'):
                rows.append(words)
    return rows


def main():
    p = argparse.ArgumentParser()
    for name in ('etinspect', 'run', 'etrun'):
        p.add_argument('--' + name)
    p.add_argument('cases')
    p.add_argument('patterns', nargs='*')
    opt = p.parse_args()
    names = sorted(os.path.relpath(d, opt.cases) for d, _, files in os.walk(opt.cases) if 'case.json' in files)
    if opt.patterns:
        names = [n for n in names if any(fnmatch.fnmatch(n, q) for q in opt.patterns)]
    known = read_known(os.path.join(HERE, 'conformance.known'))
    opt.reasons = parity.Reasons(os.path.join(HERE, 'reasons.txt'))
    differences = parity.Differences(os.path.join(HERE, 'parity.txt'))
    used, failed, told = set(), 0, 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for c in pool.map(lambda n: Case(opt.cases, n, opt).check(folder), names):
            bad = [f'portable.pte parity: {why}' for why in differences.check(c.name, c.differences)]
            for check, file, why in c.failures:
                row = next((k for k in known if fnmatch.fnmatch(c.name, k[0]) and fnmatch.fnmatch(file, k[1]) and k[2] == check), None)
                if row:
                    used.add(tuple(row))
                    told += 1
                else:
                    bad.append(f'{file} {check}: {why}')
            failed += bool(bad)
            print(('FAIL' if bad else 'ok  '), c.name, *(['| ' + '\n     | '.join(bad)] if bad else []), flush=True)
    stale = [k[:3] for k in known if tuple(k) not in used and any(fnmatch.fnmatch(n, k[0]) for n in names)]
    stale += differences.stale(names)
    for k in stale:
        print('FAIL', 'listed as known, but does not happen:', *k)
    print(f'{len(names) - failed} passed, {failed + len(stale)} failed, {told + differences.told} known differences')
    return 1 if failed or stale or not names else 0


if __name__ == '__main__':
    sys.exit(main())
