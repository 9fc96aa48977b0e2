"""What a .pte or .ptd stores, read without etinspect: tensor bytes by content, and where they lie.

    stored.py FILE...       a line a file: tensor bytes (each content once), bytes as they lie, planned memory

Just enough of a flatbuffer reader for the program schema (facts of the format: ExecuTorch 1.5.1). The files are
taken to be sound: this judges what etinspect wrote, or what it was given.
"""
import hashlib, struct, sys

SIZES = [1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 4, 8]  # by scalar type


class Table:
    def __init__(self, b, at):
        self.b, self.at = b, at
        self.vtable = at - struct.unpack_from('<i', b, at)[0]
        self.fields = (struct.unpack_from('<H', b, self.vtable)[0] - 4) // 2

    def place(self, i):
        o = struct.unpack_from('<H', self.b, self.vtable + 4 + 2 * i)[0] if i < self.fields else 0
        return self.at + o if o else 0

    def number(self, i, kind, otherwise=0):
        p = self.place(i)
        return struct.unpack_from('<' + kind, self.b, p)[0] if p else otherwise

    def follow(self, i):
        p = self.place(i)
        return p + struct.unpack_from('<I', self.b, p)[0] if p else 0

    def table(self, i):
        p = self.follow(i)
        return Table(self.b, p) if p else None

    def numbers(self, i, kind):
        p = self.follow(i)
        return list(struct.unpack_from(f'<{struct.unpack_from("<I", self.b, p)[0]}{kind}', self.b, p + 4)) if p else []

    def tables(self, i):
        p = self.follow(i)
        n = struct.unpack_from('<I', self.b, p)[0] if p else 0
        return [Table(self.b, q + struct.unpack_from('<I', self.b, q)[0]) for q in range(p + 4, p + 4 + 4 * n, 4)]

    def text(self, i):
        p = self.follow(i)
        return self.b[p + 4:p + 4 + struct.unpack_from('<I', self.b, p)[0]] if p else None


def tensors(plan):
    """Tables of the tensors of a plan."""
    return [v.table(1) for v in plan.tables(2) if v.number(0, 'B') == 5]


def tensor_bytes(t):
    n = SIZES[t.number(0, 'b')]
    for s in t.numbers(2, 'i'):
        n *= s
    return n


class Stored:
    """spans: {(offset, bytes)} of constants, initial states and named data; delegate blobs are not among them."""
    def __init__(self, path):
        with open(path, 'rb') as f:
            self.b = b = f.read()
        self.root = Table(b, struct.unpack_from('<I', b, 0)[0])
        self.spans, self.planned = set(), {}
        if b[4:8] == b'FT01':
            base = struct.unpack_from('<Q', b, 32)[0]
            self.read_named(base, self.root.tables(1), self.root.tables(2))
        else:
            self.read_program(struct.unpack_from('<Q', b, 24)[0] if b[8:12] == b'eh00' else 0)

    def add(self, at, n):
        if n:
            self.spans.add((at, n))

    def read_named(self, base, segments, named):
        for e in named:
            s = segments[e.number(1, 'I')]
            self.add(base + s.number(0, 'Q'), s.number(1, 'Q'))

    def read_program(self, base):
        segments = self.root.tables(4)
        self.read_named(base, segments, self.root.tables(7))
        constant, mutable = self.root.table(5), self.root.tables(6)
        for plan in self.root.tables(1):
            self.planned[plan.text(0).decode()] = sum(plan.numbers(8, 'q')[1:])
            for t in tensors(plan):
                i, extra = t.number(5, 'I'), t.table(9)
                where = mutable[0] if mutable and t.place(6) else constant
                if i and where and not (extra and extra.number(2, 'b')):
                    s = segments[where.number(0, 'I')]
                    self.add(base + s.number(0, 'Q') + where.numbers(1, 'Q')[i], tensor_bytes(t))

    def contents(self):
        """{digest: bytes}"""
        return {hashlib.sha256(self.b[at:at + n]).digest(): n for at, n in self.spans}

    def twice(self, least=64):
        """Bytes of contents that lie in two places of the file."""
        places, lost = {}, 0
        for at, n in sorted(self.spans):
            first = places.setdefault(hashlib.sha256(self.b[at:at + n]).digest(), at)
            lost += n if first != at and n >= least else 0
        return lost


def content_bytes(paths):
    """Stored tensor bytes of a program and its data files, wherever they lie, each content once."""
    all = {}
    for p in paths:
        all.update(Stored(p).contents())
    return sum(all.values())


if __name__ == '__main__':
    for p in sys.argv[1:]:
        s = Stored(p)
        print(p, sum(s.contents().values()), sum(n for _, n in s.spans), s.planned)
