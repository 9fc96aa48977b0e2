"""What our lowering leaves out of delegates beside what the real one left out, and why, beside why.

Used by conformance.py. parity.txt lists the differences, reasons.txt says which reasons are the same.
"""
import collections, fnmatch

TAKEN = 'not_partitioned'  # the code of a node that a program without delegates could have in one
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
        """Of a program with delegates: pairs (operator, how our reasons differ)."""
        ours = self.ours([n for m in methods for n in m['nodes'] if n['runs'] != 'xnnpack'])
        for op in sorted({e['op'] for e in declined}):
            have = ours[edge_name(op)]
            reasons = [e['reason'] for e in declined if e['op'] == op]
            if len(have) < len(reasons) and edge_name(op) != 'view_copy.default':
                yield op, f'{len(have)} nodes outside delegates, {len(reasons)} were declined'
            for reason in reasons:
                if not self.take(op, reason, have) and (have or edge_name(op) != 'view_copy.default'):
                    yield op, f'{have or "nothing"}, the reference: {reason}'  # nothing is left of a view of equal sizes

    def check_portable(self, declined, methods):
        """Of the same program without delegates, where nodes that were declined have one of the same operator: it is
        declined for the same reason, or taken, which is for Differences to judge."""
        ours = self.ours([n for m in methods for n in m['nodes']])
        for e in declined:
            have = ours[edge_name(e['op'])]
            if not have or self.take(e['op'], e['reason'], have):
                continue
            if TAKEN not in have:
                yield e['op'], f'{have}, the reference: {e["reason"]}'
            else:
                have.remove(TAKEN)

    def ours(self, nodes):
        codes = collections.defaultdict(list)
        for n in nodes:
            codes[edge_name(n['op'])].append(n['reason']['code'] if n['reason'] else 'none')
        return codes

    def take(self, op, reason, have):
        """Whether a code of `have` says so; it is taken out."""
        codes = self.codes(op, reason)
        code = next((c for c in have if c in codes), None)
        if code:
            have.remove(code)
        return code


class Differences:
    """Rows `SIGN OPERATOR COUNT CASES REASON`. `+`: each of CASES (patterns with commas between) leaves OPERATOR out
    COUNT times more, `-`: COUNT times less; `*`: any number of times."""
    def __init__(self, path):
        self.rows = [tuple(r) for r in table(path, 5)]
        self.used, self.told = set(), 0

    def listed(self, case):
        return [r for r in self.rows if any(fnmatch.fnmatch(case, p) for p in r[3].split(','))]

    def check(self, case, differences):
        """Differences that are not listed, as text."""
        bad = []
        for (sign, op), n in sorted(collections.Counter(differences).items()):
            row = next((r for r in self.listed(case) if r[:2] == (sign, op)), None)
            self.told += bool(row)
            if row:
                self.used.add(row)
            if not row or row[2] not in ('*', str(n)):
                bad.append(f'{"leaves out" if sign == "+" else "does not leave out"} {op} {n} times' +
                           (f', listed are {row[2]}' if row else ''))
        return bad

    def stale(self, cases):
        return [r[:4] for r in self.rows if r not in self.used and any(r in self.listed(c) for c in cases)]
