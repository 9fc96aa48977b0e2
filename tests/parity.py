"""What our lowering leaves out of delegates beside what the real one left out, and why, beside why.

Used by conformance.py. parity.txt lists the differences, reasons.txt says which reasons are the same.
"""
import collections, fnmatch

GEMMS = ('aten::mm.out', 'aten::addmm.out', 'aten::bmm.out')


def left_out(real, ours):
    """Operators that ours leaves out besides, and those it need not; a linear stands for the product it was."""
    real, ours = collections.Counter(real), collections.Counter(ours)
    more, fewer = ours - real, real - ours
    for g in GEMMS:
        n = min(more['aten::linear.out'], fewer[g])
        more['aten::linear.out'] -= n
        fewer[g] -= n
    return sorted(more.elements()), sorted(fewer.elements())


def flat(declined):
    """The entries of `declined`, which is a list, or a list a method."""
    return declined if isinstance(declined, list) else [e for l in declined.values() for e in l]


def table(path, columns):
    """Rows of a text table, the last column with its blanks; # comments."""
    with open(path) as f:
        return [line.rstrip('\n').split(None, columns - 1) for line in f if line.strip() and not line.startswith('#')]


def edge_name(op):
    return op[5:] if op.startswith('aten.') else op


class Reasons:
    def __init__(self, path):
        self.rows = table(path, 3)

    def codes(self, op, reason):
        for codes, ops, pattern in self.rows:
            if fnmatch.fnmatchcase(op, ops) and fnmatch.fnmatchcase(reason, pattern.replace('[', '[[]')):
                return codes.split(',')
        return []

    def check(self, declined, methods):
        """Pairs (operator, how our reasons differ)."""
        ours = collections.defaultdict(list)
        for m in methods:
            for n in m['nodes']:
                if n['runs'] != 'xnnpack':
                    ours[edge_name(n['op'])].append(n['reason']['code'] if n['reason'] else 'none')
        for op in sorted({e['op'] for e in declined}):
            have = ours[edge_name(op)]
            reasons = [e['reason'] for e in declined if e['op'] == op]
            if len(have) < len(reasons) and edge_name(op) != 'view_copy.default':
                yield op, f'{len(have)} nodes outside delegates, {len(reasons)} were declined'
            for reason in reasons:
                codes = self.codes(op, reason)
                code = next((c for c in have if c in codes), None)
                if code:
                    have.remove(code)
                elif have or edge_name(op) != 'view_copy.default':  # nothing is left in the file of a view of equal sizes
                    yield op, f'{have or "nothing"}, the reference: {reason}'


class Differences:
    """Rows `SIGN OPERATOR CASE REASON`. `+`: CASE, which may be a pattern, leaves OPERATOR out besides. `-`: OPERATOR
    need not be left out, in any case; CASE is one that shows it."""
    def __init__(self, path):
        self.rows = [tuple(r) for r in table(path, 4)]
        self.used, self.told = set(), 0

    def check(self, case, differences):
        """Differences that are not listed, as text."""
        bad = []
        for sign, op in differences:
            rows = [r for r in self.rows if r[:2] == (sign, op) and (sign == '-' or fnmatch.fnmatch(case, r[2]))]
            self.told += bool(rows)
            self.used |= {r for r in rows if fnmatch.fnmatch(case, r[2])}
            if not rows:
                bad.append(('leaves out ' if sign == '+' else 'does not leave out ') + op)
        return bad

    def stale(self, cases):
        return [r[:3] for r in self.rows if r not in self.used and any(fnmatch.fnmatch(c, r[2]) for c in cases)]
