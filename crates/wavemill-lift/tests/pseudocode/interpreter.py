"""Interpreter of the pseudocode of AMD's instruction set manuals.

`compiled(text)` parses a program; `run(program, state)` executes it on one work-item. The README
lists the readings: places where the pseudocode is looser than a program.
"""
import re

from floats import (EXACT, FORMATS, NAN_BITS, add, as_exact, compare, convert, decode, divide, encode, fma,
                        is_nan, multiply, negate, pow2, quieted)


class V:
    """A value: kind, width, bits (or an unbounded integer), and the parts that are a NaN of no defined payload."""
    __slots__ = ("k", "w", "b", "n")

    def __init__(self, k, w, b, n=()):
        self.k, self.w, self.b, self.n = k, w, b, n

    def __repr__(self):
        return f"{self.k}{self.w}:{self.b if self.k == 'x' else hex(self.b)}{self.n or ''}"

    def is_float(self):
        return self.k in FLOATS or self.k == "x"

    def format(self):
        return f"{self.k}{self.w}"

    def bits(self, w=None):
        return self.b & ((1 << (self.w if w is None else w)) - 1)


FLOATS = {"f", "bf", "fp"}
ZERO = V("i", 32, 0)


def signed(bits, w):
    bits &= (1 << w) - 1
    return bits - (1 << w) if bits >> (w - 1) else bits


def flag(x):
    return V("u", 1, int(bool(x)))


def any_nan(fmt):
    k, w = split(fmt)
    return V(k, w, NAN_BITS[fmt], ((0, w, fmt),))


def of_float(fmt, bits):
    """A computed float: a NaN has no defined payload."""
    return any_nan(fmt) if is_nan(fmt, bits) else V(*split(fmt), bits)


def split(fmt):
    m = re.fullmatch(r"([a-z]+)(\d+)", fmt)
    k, w = m[1], int(m[2])
    return ("bf", w) if k == "bf" else (k, w)


def truth(v):
    return v.bits() != 0 if v.k not in "ui" else v.b != 0


def clipped(n, lo, w):
    return tuple((a - lo, x, f) for a, x, f in n if a >= lo and a + x <= lo + w)


def typed(v, k, w):
    """`.k<w>` on a value: another view of its bits; between floats a conversion."""
    if v.k == "t":
        return v
    if k in FLOATS:
        if v.k == "x":
            return v
        if v.k in FLOATS:
            if (v.k, v.w) == (k, w):
                return v
            to = f"{k}{w}"
            if v.n:
                return any_nan(to)
            return V(k, w, convert(v.format(), to, v.b))
        return V(k, w, v.b & ((1 << w) - 1), clipped(v.n, 0, w))
    b = v.b
    if k == "i":
        return V(k, w, signed(b, w), clipped(v.n, 0, w))
    return V(k, w, b & ((1 << w) - 1), clipped(v.n, 0, w))


def cast(v, k, w, hex_literal):
    """`w'K(v)`."""
    if k in FLOATS and v.k not in FLOATS and v.k not in "xt":
        if hex_literal or v.w == w:
            return V(k, w, v.b & ((1 << w) - 1), clipped(v.n, 0, w))
        return V(k, w, encode(f"{k}{w}", v.b < 0, abs(v.b), 0))
    if k in FLOATS:
        return typed(v, k, w)
    if v.k == "i" or v.k == "u":
        return V(k, w, signed(v.b, w) if k == "i" else v.b & ((1 << w) - 1))
    return typed(v, k, w)


TOKEN = re.compile(r"""\s*(?:
    (?P<cast>\d+'(?:BF|[FBIU])\()
  | (?P<type>\d+'(?:BF|[FBIU])(?:\[\d+\])?)
  | (?P<num>(?:\d+')?(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)(?:ULL|LL|U|F)?)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>\*\*|\+:|\+=|-=|\|=|<<|>>|<=|>=|==|!=|<>|&&|\|\||[-+*/!~&|^<>?:;,.(){}\[\]=])
)""", re.X)

KEYWORDS = {"if", "then", "elsif", "else", "endif", "for", "do", "endfor", "break", "declare", "return", "lambda"}


def tokens(text):
    text = re.sub(r"//[^\n]*", "", text)
    out, at = [], 0
    text = text.rstrip()
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise SyntaxError(text[at:at + 40])
        out.append((m.lastgroup, m[m.lastgroup]))
        at = m.end()
    return out + [("end", "")]


class Break(Exception):
    pass


class Return(Exception):
    pass


def literal(text):
    m = re.fullmatch(r"(?:(\d+)')?(0x[0-9a-fA-F]+|\d+\.\d+|\d+)(ULL|LL|U|F)?", text)
    width, body, suffix = m[1], m[2], m[3]
    if "." in body:
        w = int(width) if width else 32 if suffix == "F" else 64
        whole, fraction = body.split(".")
        num, den = int(whole + fraction), 10 ** len(fraction)
        return V("f", w, divide_integers(f"f{w}", num, den))
    if body.startswith("0x") and suffix == "F":
        # The digit F of a hexadecimal number.
        body, suffix = body + "F", None
    value = int(body, 0)
    w = int(width) if width else 64 if suffix in ("ULL", "LL") else 32
    return V("u" if suffix in ("U", "ULL") else "i", w, value)


def divide_integers(fmt, num, den):
    if num == 0:
        return 0
    return encode(fmt, False, (num << 200) // den, -200, sticky=(num << 200) % den != 0)


class Parser:
    """Recursive descent to closures of the state."""

    def __init__(self, text):
        self.t = tokens(text)
        self.i = 0

    def peek(self, n=0):
        return self.t[min(self.i + n, len(self.t) - 1)][1]

    def kind(self):
        return self.t[self.i][0]

    def next(self):
        self.i += 1
        return self.t[self.i - 1][1]

    def take(self, text):
        if self.peek() == text and self.kind() != "end":
            self.i += 1
            return True
        return False

    def need(self, text):
        if not self.take(text):
            raise SyntaxError(f"{text} expected at {[x[1] for x in self.t[self.i:self.i + 8]]}")

    def statements(self, ends):
        out = []
        while True:
            while self.take(";"):
                pass
            if self.kind() == "end" or self.peek() in ends:
                break
            out.append(self.statement())

        def block(s, out=tuple(out)):
            for f in out:
                f(s)
        return block

    def statement(self):
        word = self.peek()
        if word == "if":
            return self.if_statement()
        if word == "for":
            self.next()
            name = self.next()
            self.need("in")
            lo = self.expression()
            self.need(":")
            hi = self.expression()
            self.need("do")
            body = self.statements(("endfor",))
            self.need("endfor")

            def loop(s):
                try:
                    for n in range(lo(s).b, hi(s).b + 1):
                        s.vars[name] = V("i", 32, n)
                        body(s)
                except Break:
                    pass
            return loop
        if word == "break":
            self.next()

            def stop(_):
                raise Break
            return stop
        if word == "return":
            self.next()
            value = self.expression()

            def give(s):
                raise Return(value(s))
            return give
        if word == "declare":
            self.next()
            name = self.next()
            self.need(":")
            kind, text = self.t[self.i]
            self.i += 1
            # "declare i : 6'U" and arrays "32'F[3]".
            m = re.fullmatch(r"(\d+)'(BF|[FBIU])(?:\[(\d+)\])?", text)
            w, k, count = int(m[1]), m[2].lower(), m[3]

            def declare(s):
                if count is None:
                    s.vars[name] = V(k, w, 0)
                elif name == "S":
                    s.vars[name] = [s.vars["S0"], s.vars["S1"], s.vars["S2"]]
                elif name == "CVT_OFF_TABLE":
                    # The pseudocode declares the table but lists it in prose: sixteenths of a signed nibble.
                    s.vars[name] = [V("f", 32, encode("f32", n > 7, abs((n ^ 8) - 8), -4)) for n in range(16)]
                else:
                    s.vars[name] = [V(k, w, 0)] * int(count)
            return declare
        return self.assignment()

    def if_statement(self):
        self.next()
        arms = [(self.expression(), self.after_then())]
        other = None
        while True:
            if self.take("elsif"):
                arms.append((self.expression(), self.after_then()))
            elif self.take("else"):
                other = self.statements(("endif",))
            else:
                self.need("endif")
                break

        def choose(s):
            for test, body in arms:
                if truth(test(s)):
                    body(s)
                    return
            if other:
                other(s)
        return choose

    def after_then(self):
        self.need("then")
        return self.statements(("elsif", "else", "endif"))

    def assignment(self):
        if self.kind() == "name" and self.peek(1) == "=" and self.peek(2) == "lambda":
            return self.function()
        targets, op = [self.target()], self.next()
        if op not in ("=", "+=", "-="):
            raise SyntaxError(f"{op} in an assignment")
        while True:
            start = self.i
            try:
                again = self.target()
                if not self.take("="):
                    raise SyntaxError
                targets.append(again)
            except SyntaxError:
                self.i = start
                break
        value = self.expression()
        if op != "=":
            old = targets[0].read
            plus = op == "+="
            change = value

            def value(s):
                return arithmetic("+" if plus else "-", old(s), change(s))

        def assign(s):
            v = value(s)
            for target in reversed(targets):
                target(s, v)
        return assign

    def function(self):
        name = self.next()
        self.need("=")
        self.need("lambda")
        self.need("(")
        names = []
        while not self.take(")"):
            names.append(self.next())
            self.take(",")
        self.need("(")
        if self.peek() in ("if", "declare"):
            body, value = self.statements((")",)), None
        else:
            body, value = None, self.expression()
        self.take(";")
        self.need(")")

        def call(s, *args):
            saved = dict(s.vars)
            s.vars.update(zip(names, args))
            try:
                if value:
                    return value(s)
                body(s)
            except Return as result:
                return result.args[0]
            finally:
                s.vars = saved

        def define(s):
            s.functions[name] = call
        return define

    def target(self):
        """What is assigned to: a function of the state and a value."""
        if self.take("{"):
            parts = [self.target()]
            while self.take(","):
                parts.append(self.target())
            self.need("}")

            def spread(s, v):
                at = 0
                for part in reversed(parts):
                    part(s, V("b", part.width, v.b >> at & ((1 << part.width) - 1)))
                    at += part.width
            return spread
        if self.kind() != "name" or self.peek() in KEYWORDS:
            raise SyntaxError("no target")
        start = self.i
        name = self.next()
        if name == "MEM":
            address, k, w = self.memory()

            def put(s, v):
                v = rounded(v, f"{k}{w}") if k in FLOATS else v
                s.vars["MEM"].write(s.memory_bit(address(s).b), w, v.b & ((1 << w) - 1), clipped(v.n, 0, w))
            put.width = w
            put.read = lambda s: load(s, address, k, w)
            return put
        if name == "VGPR":
            # VGPR[laneId][VDST.u32]: the old contents of the destination stay.
            for _ in range(2):
                self.need("[")
                self.expression()
                self.need("]")
            name = "D0"
            keeps = True
        else:
            keeps = False
        path, width = [], None
        while True:
            if self.peek() == "." and re.fullmatch(r"[a-z]+\d+", self.peek(1)):
                self.next()
                k, w = split(self.next())
                path.append(("type", k, w))
                width = w
            elif self.peek() == "[":
                path.append(self.index())
                width = None
            else:
                break

        def write(s, v):
            if keeps:
                s.keeps = True
            store(s, name, path, v)
        write.width = width
        end = self.i
        self.i = start
        if not keeps:
            write.read = self.postfix()
        self.i = end
        return write

    def memory(self):
        """`[address].type`; 32 bits without a type."""
        self.need("[")
        address = self.expression()
        self.need("]")
        if self.take("."):
            return (address, *split(self.next()))
        return address, "b", 32

    def index(self):
        self.need("[")
        first = self.expression()
        if self.take(":"):
            last = self.expression()
            self.need("]")
            return ("slice", first, last)
        if self.take("+:"):
            count = self.expression()
            self.need("]")
            return ("slice", lambda s: V("i", 32, first(s).b + count(s).b - 1), first)
        self.need("]")
        return ("item", first)

    def expression(self):
        test = self.binary(0)
        if self.take("?"):
            yes = self.expression()
            self.need(":")
            no = self.expression()
            return lambda s: yes(s) if truth(test(s)) else no(s)
        return test

    LEVELS = [("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<>"), ("<", ">", "<=", ">="), ("<<", ">>"),
              ("+", "-"), ("*", "/"), ("**",)]

    def binary(self, level):
        if level == len(self.LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.kind() == "op" and self.peek() in self.LEVELS[level]:
            op = self.next()
            start = self.i
            right = self.binary(level + 1)
            left = self.joined(op, left, right, start)
        return left

    def joined(self, op, left, right, start):
        if op == "||":
            return lambda s: flag(truth(left(s)) or truth(right(s)))
        if op == "&&":
            return lambda s: flag(truth(left(s)) and truth(right(s)))
        if op == "==":
            text = [x[1] for x in self.t[start:start + 2]]
            if text[0] in "+-" and text[1] == "0.0":
                # A zero with a sign is that zero alone.
                negative = text[0] == "-"
                return lambda s: flag(zero_sign(left(s)) is negative)
            if text[0] == "DENORM":
                return lambda s: flag(is_denormal(left(s)))
        return lambda s: operate(op, left(s), right(s))

    def unary(self):
        if self.kind() == "op":
            if self.take("-"):
                x = self.unary()
                return lambda s: minus(x(s))
            if self.take("+"):
                return self.unary()
            if self.take("!"):
                x = self.unary()
                return lambda s: flag(not truth(x(s)))
            if self.take("~"):
                x = self.unary()
                return lambda s: inverted(x(s))
        return self.postfix()

    def postfix(self):
        x = self.primary()
        while True:
            if self.peek() == "." and re.fullmatch(r"[a-z]+\d+", self.peek(1)):
                self.next()
                k, w = split(self.next())
                if self.peek() == "[" and k not in FLOATS:
                    # `S0.u32[63 : 32]`: the index alone says which bits.
                    continue
                x = (lambda x, k, w: lambda s: typed(plain(x(s)), k, w))(x, k, w)
            elif self.peek() == "." and self.t[self.i + 1][0] == "name":
                self.next()
                field = self.next()
                x = (lambda x, field: lambda s: x(s)[field])(x, field)
            elif self.peek() == "[":
                x = (lambda x, i: lambda s: indexed(x(s), i, s))(x, self.index())
            else:
                return x

    def primary(self):
        kind, text = self.t[self.i]
        if kind == "num":
            self.next()
            v = literal(text)
            return lambda s: v
        if kind == "cast":
            self.next()
            w, k = text[:-1].split("'")
            start = self.i
            x = self.expression()
            hexadecimal = self.i == start + 1 and self.t[start][1].startswith("0x")
            self.need(")")
            w, k = int(w), k.lower()
            if w == 1201 and k == "b":
                v = V("b", 1201, two_over_pi())
                return lambda s: v
            return lambda s: cast(plain(x(s)), k, w, hexadecimal)
        if kind == "name":
            self.next()
            if text == "MEM" and self.peek() == "[":
                address, k, w = self.memory()
                return lambda s: load(s, address, k, w)
            if text == "VGPR" and self.peek() == "[":
                # VGPR[laneId][SRC0.u32]: the source.
                self.index()
                self.need("[")
                name = self.next()
                self.need(".")
                self.next()
                self.need("]")
                return lambda s: s.vars[{"SRC0": "S0", "VDST": "D0"}[name]]
            if self.peek() == "(":
                self.next()
                args = []
                while not self.take(")"):
                    args.append(self.expression())
                    self.take(",")
                return lambda s: s.call(text, [plain(a(s)) for a in args])
            return lambda s: plain(s.vars[text])
        if self.take("("):
            x = self.expression()
            self.need(")")
            return x
        if self.take("{"):
            parts = [self.expression()]
            while self.take(","):
                parts.append(self.expression())
            self.need("}")
            return lambda s: concatenated([plain(p(s)) for p in parts])
        raise SyntaxError(f"{text} in an expression")


def two_over_pi():
    import mpmath
    with mpmath.workprec(1400):
        return int(mpmath.floor(mpmath.mpf(2) / mpmath.pi * (mpmath.mpf(2) ** 1201)))


class Register:
    """A register whose written bits are known."""

    def __init__(self, w, bits=0):
        self.w, self.bits, self.mask, self.n = w, bits, 0, ()

    def value(self):
        return V("b", self.w, self.bits, self.n)

    def write(self, lo, w, bits, n):
        w = min(w, self.w - lo)
        mask = ((1 << w) - 1) << lo
        self.bits = self.bits & ~mask | (bits << lo) & mask
        self.mask |= mask
        kept = tuple(x for x in self.n if x[0] + x[1] <= lo or x[0] >= lo + w)
        self.n = kept + tuple((a + lo, x, f) for a, x, f in n)


def load(s, address, k, w):
    bit = s.memory_bit(address(s).b)
    v = s.vars["MEM"].value()
    return typed(V("b", w, v.b >> bit & ((1 << w) - 1), clipped(v.n, bit, w)), k, w)


def plain(v):
    return v.value() if isinstance(v, Register) else v


def concatenated(parts):
    at, bits, n = 0, 0, ()
    for p in reversed(parts):
        bits |= p.bits() << at
        n += tuple((a + at, x, f) for a, x, f in p.n)
        at += p.w
    return V("b", at, bits, n)


def indexed(v, index, s):
    if isinstance(v, dict):
        raise TypeError
    if isinstance(v, list):
        return v[index[1](s).b]
    v = plain(v)
    if index[0] == "item":
        i = index[1](s).b
        return V("u", 1, v.bits() >> i & 1)
    first, last = index[1](s).b, index[2](s).b
    if first >= last:
        w = first - last + 1
        return V("b", w, v.b >> last & ((1 << w) - 1), clipped(v.n, last, w))
    # [0 : 31] is the bits in reverse.
    w = last - first + 1
    bits = v.b >> first & ((1 << w) - 1)
    return V("b", w, int(format(bits, f"0{w}b")[::-1], 2))


def store(s, name, path, v):
    """Writes to a part of a variable."""
    v = plain(v)
    lo, w, k = 0, None, None
    old = s.vars.get(name)
    if isinstance(old, list):
        items = list(old)
        items[path[0][1](s).b] = typed(v, *path[1][1:]) if len(path) > 1 else v
        s.vars[name] = items
        return
    for step in path:
        if step[0] == "type":
            _, k, w = step
        elif step[0] == "item":
            lo, w, k = lo + step[1](s).b, 1, "b"
        else:
            first, last = step[1](s).b, step[2](s).b
            lo, w, k = lo + min(first, last), abs(first - last) + 1, "b" if k not in FLOATS else "b"
    if k in FLOATS and v.is_float():
        v = rounded(v, f"{k}{w}")
    if isinstance(old, Register):
        width = old.w if w is None else w
        if v.k == "x":
            raise TypeError("an exact number in a register")
        old.write(lo, width, v.b & ((1 << width) - 1), clipped(v.n, 0, width))
        return
    if not path:
        s.vars[name] = v
        if name == "ROUND_MODE":
            s.round = v
        return
    if len(path) == 1 and path[0][0] == "type":
        s.vars[name] = typed(v, k, w)
        return
    base = old if old is not None else V("b", 128, 0)
    mask = ((1 << w) - 1) << lo
    n = tuple(x for x in base.n if x[0] + x[1] <= lo or x[0] >= lo + w)
    n += tuple((a + lo, x, f) for a, x, f in clipped(v.n, 0, w))
    # A variable that was made from a small literal grows.
    width = max(base.w, lo + w)
    s.vars[name] = V("b", width, base.b & ((1 << width) - 1) & ~mask | (v.b << lo) & mask, n)


def rounded(v, fmt):
    if v.k == "x":
        return of_float(fmt, EXACT.round(fmt, v.b))
    return typed(v, *split(fmt))


def zero_sign(v):
    """Whether a zero is negative; None for another number."""
    fmt = v.format()
    magnitude = v.b & ((1 << (v.w - 1)) - 1)
    return bool(v.b >> (v.w - 1)) if v.is_float() and magnitude == 0 and fmt in FORMATS else None


def is_denormal(v):
    e, m = FORMATS[v.format()][:2]
    return v.b & ((1 << m) - 1) != 0 and v.b >> m & ((1 << e) - 1) == 0


def minus(v):
    if v.k == "x":
        return V("x", 0, negate(v.b))
    if v.is_float():
        return V(v.k, v.w, v.b ^ (1 << (v.w - 1)), v.n)
    return V(v.k, v.w, -v.b)


def inverted(v):
    if v.k == "i":
        return V("i", v.w, ~v.b)
    return V(v.k, v.w, ~v.b & ((1 << v.w) - 1))


COMPARE = {"==": "e", "!=": "n", "<>": "lg", "<": "l", ">": "g", "<=": "le", ">=": "ge"}


def operate(op, a, b):
    a, b = plain(a), plain(b)
    if isinstance(a, str) or isinstance(b, str):
        return flag(a == b)
    if op in COMPARE:
        wanted = COMPARE[op]
        if a.is_float() or b.is_float():
            if a.n or b.n or (a.k != "x" and is_nan(a.format(), a.b)) or (b.k != "x" and is_nan(b.format(), b.b)):
                return flag(wanted == "n")
            c = compare(exact(a), exact(b))
        else:
            c = (a.b > b.b) - (a.b < b.b)
        got = "l" if c < 0 else "g" if c > 0 else "e"
        return flag(got in wanted if wanted != "n" else got != "e")
    return arithmetic(op, a, b)


def exact(v):
    if v.k == "x":
        return v.b
    if v.is_float():
        return as_exact(v.format(), v.b)
    return as_exact(None, v.b)


def arithmetic(op, a, b):
    a, b = plain(a), plain(b)
    if "t" in (a.k, b.k):
        # PI * 2.0, and a product with that, which is not rounded: the angle stays a number of turns.
        if a.k == "t" and a.b == "pi":
            return V("t", 0, "2 pi")
        return V("t", a.w, a)
    if op == "**":
        return V("x", 0, pow2(max(-20000, min(20000, b.b))))
    if a.is_float() or b.is_float():
        if op == "&":
            raise TypeError
        if a.k == "x" or b.k == "x":
            # A power of two scales without rounding twice.
            f = b if a.k == "x" else a
            if f.k == "x":
                raise TypeError
            fmt = f.format()
            if is_nan(fmt, f.b):
                return any_nan(fmt)
            return of_float(fmt, EXACT.scale(fmt, f.b, a.b if a.k == "x" else b.b))
        if not (a.is_float() and b.is_float()):
            raise TypeError(f"{a} {op} {b}")
        fmt = max(a, b, key=lambda v: v.w).format()
        x, y = typed(a, *split(fmt)), typed(b, *split(fmt))
        if is_nan(fmt, x.b) or is_nan(fmt, y.b):
            return any_nan(fmt)
        if op == "-":
            y, op = minus(y), "+"
        f = {"+": add, "*": multiply, "/": divide}[op]
        return of_float(fmt, f(fmt, x.b, y.b))
    w = max(a.w, b.w)
    k = "u" if "u" in (a.k, b.k) or "b" in (a.k, b.k) and "i" not in (a.k, b.k) else a.k if a.k == b.k else "i"
    if op == "+":
        return V(k, w, a.b + b.b)
    if op == "-":
        return V(k, w, a.b - b.b)
    if op == "*":
        return V(k, w, a.b * b.b)
    if op == "&":
        if w == 1201:
            # The 53 bits in front of the binary point, which the shift has moved there.
            return V("u", 53, (a.b & ((1 << 1201) - 1)) >> (1201 - 53))
        return V(k, w, a.b & b.b)
    if op == "|":
        return V(k, w, a.b | b.b)
    if op == "^":
        return V(k, w, a.b ^ b.b)
    if op == "<<":
        return V(a.k, a.w, a.b << b.b)
    if op == ">>":
        return V(a.k, a.w, a.b >> b.b)
    raise TypeError(op)


class State:
    """Variables of one work-item, and the functions that programs call."""

    def __init__(self, variables, library, programs):
        self.vars, self.library, self.programs = variables, library, programs
        self.functions = {}
        self.keeps = False
        self.round = "ROUND_NEAREST_EVEN"

    @staticmethod
    def memory_bit(address):
        """Where a byte is in the register that stands for memory: it has 32 bytes, and 32 more at address 2048."""
        return 8 * (address if address < 32 else 32 + address - 2048)

    def call(self, name, args):
        if name in self.functions:
            return self.functions[name](self, *args)
        if name in self.library:
            return self.library[name](self, *args)
        program = self.programs(name)
        width = max(32, int(re.search(r"_[a-z]+(\d+)$", name)[1])) if name.endswith("_u8") else int(name[-2:])
        inner = {**self.vars, **{f"S{n}": a for n, a in enumerate(args)}, "D0": Register(width)}
        program(State(inner, self.library, self.programs))
        kind = "u" if name.endswith("_u8") else re.search(r"_([a-z]+)\d+$", name)[1]
        return typed(inner["D0"].value(), kind, width)


_cache = {}


def compiled(text):
    if text not in _cache:
        p = Parser(text)
        block = p.statements(())
        if p.kind() != "end":
            raise SyntaxError(f"{p.peek()} at the end")
        _cache[text] = block
    return _cache[text]
