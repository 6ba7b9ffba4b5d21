# SPDX-License-Identifier: MIT
"""sass.py: executes the machine code of an NVIDIA kernel, as nvdisasm prints it, on the CPU, to count what it issues.

One lane is run per warp: the first, which takes every path that its warp takes in kernels that branch on the work-item
the way ours do. Warps take turns at barriers. Global memory holds 0.5 wherever nothing was stored. Instructions with a false
predicate are counted: they occupy their issue slot. Loops and branches run as on a GPU, so unrolled code that is never
reached, slow paths of division and roots, and tails of sequences count as often as they run.

Not a simulator: no time, no caches. Opcodes are those of our kernels on sm_75 to sm_120; another one stops it by name.
"""
import collections
import functools
import math
import re
import struct

MASK = 0xFFFFFFFF


def to_float(bits):
    return struct.unpack("<f", struct.pack("<I", bits & MASK))[0]


def from_float(value):
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0x7F800000 | (0x80000000 if value < 0 else 0)


def to_double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits & (MASK << 32 | MASK)))[0]


def from_double(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def signed(value, bits=32):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


# ---- text ---------------------------------------------------------------------------------------------

Instruction = collections.namedtuple("Instruction", "address predicate opcode modifiers operands text")
LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P[0-9T]))?\s*([A-Z0-9_.]+)\s*([^;]*);")


def split_operands(text):
    parts, depth, current = [], 0, ""
    for character in text:
        depth += character in "[(" and 1 or character in "])" and -1 or 0
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return parts


def read_kernels(text):
    """name -> (instructions, labels) of every kernel in nvdisasm's output"""
    kernels, code, labels = {}, None, None
    for line in text.splitlines():
        section = re.match(r"^\.text\.(\w+):", line)
        if section:
            code, labels = [], {}
            kernels[section.group(1)] = (code, labels)
            continue
        label = re.match(r"^\s*(\$?[.\w$]+):\s*$", line)
        if code is not None and label:
            labels[label.group(1)] = len(code)
            continue
        match = LINE.match(line) if code is not None else None
        if match:
            address, predicate, opcode, operands = match.groups()
            operands = re.sub(r"\(\*.*?\*\)", "", operands)  # remarks of nvdisasm
            name, *modifiers = opcode.split(".")
            code.append(Instruction(int(address, 16), predicate, name, modifiers, split_operands(operands), line.strip()))
    return kernels


@functools.lru_cache(None)
def words_of(name, count):
    """names of consecutive registers"""
    kind, number = re.match(r"(U?R)(\d+)", name).groups()
    return tuple(f"{kind}{int(number) + i}" for i in range(count))


@functools.lru_cache(None)
def without_remarks(text):
    return re.sub(r"\.(reuse|64)", "", text)


@functools.lru_cache(None)
def kind_of(text):
    """register, constant of the bank, or a number"""
    if text.startswith("c["):
        return "bank", None
    if re.match(r"U?R(\d+|Z)$", text):
        return "register", None
    if re.match(r"-?0x[0-9a-f]+$", text):
        return "number", int(text, 16)
    raise Unknown(f"operand {text}")


@functools.lru_cache(None)
def is_predicate(text):
    return re.match(r"!?U?P", text) is not None


# ---- one warp -----------------------------------------------------------------------------------------


class Unknown(Exception):
    pass


FIRST_PARAMETER = {75: 0x160, 80: 0x160, 86: 0x160, 89: 0x160, 90: 0x210, 100: 0x380, 120: 0x380}


class Warp:
    def __init__(self, group, warp):
        self.group, self.registers, self.predicates, self.pc = group, {}, {}, 0
        self.thread = 32 * warp

    # -- operands

    def register(self, name):
        return 0 if name in ("RZ", "URZ", "SRZ") else self.registers.get(name, 0)

    def pair(self, name):
        if name in ("RZ", "URZ"):
            return 0
        low, high = words_of(name, 2)
        return self.register(low) | self.register(high) << 32

    def put(self, name, value):
        if name not in ("RZ", "URZ"):
            self.registers[name] = value & MASK

    def put_wide(self, name, value, words=2):
        if name in ("RZ", "URZ"):
            return
        for i, word in enumerate(words_of(name, words)):
            self.put(word, value >> (32 * i))

    def constant(self, text):
        bank, offset = re.match(r"c\[0x(\d)\]\[(.*)\]$", text).groups()
        if bank != "0":
            return 0x3FF0000000000000  # constants of the compiler, for doubles: any number will do
        return int.from_bytes(self.group.bank[self.address(offset):][:8].ljust(8, b"\0"), "little")

    def address(self, text):
        total = 0
        for part in re.findall(r"-?[^+]+", text.replace("+-", "+-")):
            part = part.strip()
            if re.fullmatch(r"-?0x[0-9a-f]+", part):
                total += int(part, 16)
            elif part.endswith(".64"):
                total += self.pair(part[:-3])
            else:
                scale = re.match(r"(U?R\w+?)(?:\.X(\d+))?(?:\.U32|\.UR)?$", part)
                total += self.register(scale.group(1)) * int(scale.group(2) or 1)
        return total

    def raw(self, text, wide=False):
        """bits of an operand without its sign"""
        kind, value = kind_of(text)
        if kind == "register":
            return self.pair(text) if wide else self.register(text)
        if kind == "bank":
            value = self.constant(text)
        return value & (MASK << 32 | MASK if wide else MASK)

    def integer(self, text, wide=False):
        text = without_remarks(text)
        bits = 64 if wide else 32
        if text.startswith("-"):
            if text.startswith("-0x"):
                return int(text, 16) & ((1 << bits) - 1)
            return -self.integer(text[1:], wide) & ((1 << bits) - 1)
        if text.startswith("~"):
            return ~self.integer(text[1:], wide) & ((1 << bits) - 1)
        if text.startswith("|"):
            return abs(signed(self.integer(text.strip("|"), wide), bits))
        if text.startswith("`"):
            return self.group.address_of(text)
        return self.raw(text, wide)

    def number(self, text, double=False):
        text = text.replace(".reuse", "")
        if text.startswith("-") and not re.match(r"-[\d.]", text) and "INF" not in text:
            return -self.number(text[1:], double)
        if text.startswith("|"):
            return abs(self.number(text.strip("|"), double))
        if "INF" in text:
            return -math.inf if text.startswith("-") else math.inf
        if "QNAN" in text:
            return math.nan
        if re.match(r"-?\d", text) and not text.startswith(("0x", "-0x")):
            return float(text)
        if double and text.startswith("0x"):
            return to_double(int(text, 16) << 32)
        return to_double(self.raw(text, True)) if double else to_float(self.raw(text))

    def predicate(self, text):
        if text.startswith("!"):
            return not self.predicate(text[1:])
        return text in ("PT", "UPT") or self.predicates.get(text, False)

    def put_predicate(self, name, value):
        if name not in ("PT", "UPT"):
            self.predicates[name] = bool(value)

    # -- instructions

    def run(self):
        """until the next barrier (True) or the end (False)"""
        while True:
            instruction = self.group.code[self.pc]
            self.pc += 1
            self.group.count(instruction)
            if instruction.predicate and not self.predicate(instruction.predicate):
                continue
            name, modifiers, operands = instruction.opcode, instruction.modifiers, instruction.operands
            if name in ("EXIT",):
                return False
            if name == "BAR":
                return True
            if name in ("BRA", "CALL", "JMP"):
                self.branch(instruction)
            elif name == "RET":
                self.pc = self.group.index_of(self.register(operands[0]))
            elif name in IGNORED:
                continue
            else:
                handler = HANDLERS.get(name) or HANDLERS.get(name[1:] if name.startswith("U") else name)
                if not handler:
                    raise Unknown(instruction.text)
                try:
                    handler(self, modifiers, operands)
                except (Unknown, AttributeError, ValueError, IndexError, KeyError) as error:
                    raise Unknown(f"{instruction.text}: {error!r}") from error

    def branch(self, instruction):
        target = next(o for o in instruction.operands if o.startswith("`"))
        conditions = [o for o in instruction.operands if re.match(r"!?U?P", o)]
        if all(self.predicate(c) for c in conditions):
            self.pc = self.group.labels[target[2:-1]]


IGNORED = {"NOP", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "DEPBAR", "MEMBAR", "ERRBAR", "CCTL", "BMOV", "YIELD", "LEPC", "WARPGROUP"}


def two_predicates(operands):
    """ISETP and FSETP have two results, then two operands and a predicate"""
    return operands[0], operands[1], operands[2], operands[3], operands[4] if len(operands) > 4 else "PT"


COMPARE = {"LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
           "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b}


def combine(modifiers, value, other):
    return value and other if "AND" in modifiers else value or other if "OR" in modifiers else value != other


def isetp(w, modifiers, operands):
    first, second, a, b, other = two_predicates(operands)
    wide = "S64" in modifiers or "U64" in modifiers
    bits = 64 if wide else 32
    left, right = w.integer(a, wide), w.integer(b, wide)
    if "U32" not in modifiers and "U64" not in modifiers:
        left, right = signed(left, bits), signed(right, bits)
    compare = next(m for m in modifiers if m in COMPARE)
    value = COMPARE[compare](left, right)
    if "EX" in modifiers:
        # of 64 bits the upper words; the last operand is the comparison of the lower words
        low = w.predicate(operands[5])
        if compare == "NE":
            value = value or low
        elif left == right:
            value = low
    w.put_predicate(first, combine(modifiers, value, w.predicate(other)))
    w.put_predicate(second, combine(modifiers, not value, w.predicate(other)))


def compare_floats(w, modifiers, operands, double):
    first, second, a, b, other = two_predicates(operands)
    left, right = w.number(a, double), w.number(b, double)
    unordered = math.isnan(left) or math.isnan(right)
    kind = modifiers[0]
    if kind == "NAN":
        value = unordered
    elif kind == "NUM":
        value = not unordered
    elif kind.endswith("U") and kind[:-1] in COMPARE:
        value = unordered or COMPARE[kind[:-1]](left, right)
    else:
        value = not unordered and COMPARE[kind](left, right)
    w.put_predicate(first, combine(modifiers, value, w.predicate(other)))
    w.put_predicate(second, combine(modifiers, not value, w.predicate(other)))


def logic(table, *inputs):
    out = 0
    for i in range(8):
        if table >> i & 1:
            term = -1
            for k, value in enumerate(inputs):
                term &= value if i >> (2 - k) & 1 else ~value
            out |= term
    return out


def lop3(w, modifiers, operands):
    if operands[0].lstrip("U").startswith("P") or operands[0] in ("PT", "UPT"):
        predicate, operands = operands[0], operands[1:]
    else:
        predicate = None
    a, b, c = (w.integer(o) for o in operands[1:4])
    result = logic(w.integer(operands[4]), a, b, c) & MASK
    w.put(operands[0], result)
    if predicate:
        w.put_predicate(predicate, result != 0)


def plop3(w, modifiers, operands):
    inputs = [-1 if w.predicate(o) else 0 for o in operands[2:5]]
    table = w.integer(operands[5])
    w.put_predicate(operands[0], logic(table, *inputs) & 1)
    if len(operands) > 6:
        w.put_predicate(operands[1], logic(w.integer(operands[6]), *inputs) & 1)


def iadd3(w, modifiers, operands):
    results = [operands[0]]
    rest = operands[1:]
    carries_out = []
    while rest and re.match(r"!?U?P", rest[0]) and len(rest) > 3:
        carries_out.append(rest.pop(0))
    wide = "64" in modifiers
    values = [w.integer(o, wide) for o in rest[:3]]
    total = sum(values)
    if "X" in modifiers:
        total += sum(int(w.predicate(o)) for o in rest[3:5])
    for carry in carries_out[:1]:
        w.put_predicate(carry, total >> 32 & 1)
    for carry in carries_out[1:2]:
        w.put_predicate(carry, total >> 33 & 1)
    (w.put_wide if wide else w.put)(results[0], total)


def imad(w, modifiers, operands):
    kind = set(modifiers)
    if "WIDE" in kind or "HI" in kind:
        carry = None
        if re.match(r"U?P", operands[1]):
            carry, operands = operands[1], operands[:1] + operands[2:]
        a, b = w.integer(operands[1]), w.integer(operands[2])
        if "U32" not in kind:
            a, b = signed(a), signed(b)
        if "HI" in kind:
            w.put(operands[0], (a * b + (w.integer(operands[3], True) if operands[3] != "RZ" else 0) >> 32)
                  if operands[3] not in ("RZ", "URZ") else a * b >> 32)
        else:
            total = a * b + w.integer(operands[3], True)
            w.put_wide(operands[0], total)
            if carry:
                w.put_predicate(carry, (a * b & (1 << 64) - 1) + w.integer(operands[3], True) >> 64)
        return
    if re.match(r"!?U?P", operands[1]):
        operands = operands[:1] + operands[2:]
    total = w.integer(operands[1]) * w.integer(operands[2]) + w.integer(operands[3])
    if "X" in kind:
        total += int(w.predicate(operands[4]))
    w.put(operands[0], total)


def lea(w, modifiers, operands):
    carry = None
    if re.match(r"U?P", operands[1]):
        carry, operands = operands[1], operands[:1] + operands[2:]
    if "HI" in modifiers:
        # d = upper word of ({c:a} << s) + b, with the carry of the lower word
        a, b, c = (w.integer(o) for o in operands[1:4])
        if "SX32" in modifiers:
            c, shift, rest = MASK if a >> 31 else 0, w.integer(operands[3]), operands[4:]
        else:
            shift, rest = w.integer(operands[4]), operands[5:]
        total = ((c << 32 | a) << shift >> 32 & MASK) + b
        if "X" in modifiers:
            total += sum(int(w.predicate(o)) for o in rest)
    else:
        total = (w.integer(operands[1]) << w.integer(operands[3]) & MASK) + w.integer(operands[2])
    w.put(operands[0], total)
    if carry:
        w.put_predicate(carry, total >> 32)


def shf(w, modifiers, operands):
    low, by, high = w.integer(operands[1]), w.integer(operands[2]), w.integer(operands[3])
    bits = 64 if "U64" in modifiers or "S64" in modifiers else 32
    by &= 63 if bits == 64 else 63
    if "L" in modifiers:
        value = (high << 32 | low) << by
        w.put(operands[0], value >> 32 if "HI" in modifiers else low << by)
        return
    if "HI" in modifiers and bits == 32:
        value = signed(high) if "S32" in modifiers else high
        w.put(operands[0], value >> min(by, 32 + 31))
        return
    value = high << 32 | low
    if "S64" in modifiers or "S32" in modifiers:
        value = signed(value, 64)
    w.put(operands[0], value >> by + (32 if "HI" in modifiers else 0))


def select(w, modifiers, operands):
    wide = "64" in modifiers
    chosen = operands[1] if w.predicate(operands[3]) else operands[2]
    (w.put_wide if wide else w.put)(operands[0], w.integer(chosen, wide))


def fsel(w, modifiers, operands):
    chosen = operands[1] if w.predicate(operands[3]) else operands[2]
    w.put(operands[0], from_float(w.number(chosen)))


def chooses_smaller(w, operands):
    """registers, and whether min or max is selected: the first predicate after the registers"""
    registers = [i for i, o in enumerate(operands) if not re.match(r"!?U?P", o)]
    after = operands[registers[-1] + 1:]
    return [operands[i] for i in registers], w.predicate(after[0]) if after else True


def minimum(w, modifiers, operands):
    wide = "S64" in modifiers or "U64" in modifiers
    (to, *rest), smaller = chooses_smaller(w, operands)
    values = [w.integer(o, wide) for o in rest]
    if not {"U32", "U64"} & set(modifiers):
        values = [signed(v, 64 if wide else 32) for v in values]
    (w.put_wide if wide else w.put)(to, min(values) if smaller else max(values))


def add_minimum(w, modifiers, operands):
    (to, a, b, c), smaller = chooses_smaller(w, operands)
    values = [signed(w.integer(a) + w.integer(b)), signed(w.integer(c))]
    w.put(to, min(values) if smaller else max(values))


def fminmax(w, modifiers, operands):
    (to, *rest), smaller = chooses_smaller(w, operands)
    values = [w.number(o) for o in rest]
    w.put(to, from_float(math.nan if any(map(math.isnan, values)) else min(values) if smaller else max(values)))


def mufu(w, modifiers, operands):
    if "64H" in modifiers[0]:
        value = w.number(operands[1].split(".")[0])  # the upper word only: an estimate
        upper = to_double(w.integer(operands[1]) << 32)
        result = 1 / upper if modifiers[0].startswith("RCP") and upper else 0.0
        w.put(operands[0], from_double(result) >> 32)
        return
    a = w.number(operands[1])
    functions = {"RCP": lambda v: math.copysign(math.inf, v) if v == 0 else 1 / v,
                 "RSQ": lambda v: math.nan if v < 0 else math.inf if v == 0 else 1 / math.sqrt(v),
                 "SQRT": lambda v: math.nan if v < 0 else math.sqrt(v),
                 "EX2": lambda v: 2.0 ** max(min(v, 200), -200), "LG2": lambda v: math.log2(v) if v > 0 else -math.inf,
                 "TANH": math.tanh, "SIN": math.sin, "COS": math.cos}
    w.put(operands[0], from_float(functions[modifiers[0]](a)))


def arithmetic(function, double=False):
    def handler(w, modifiers, operands):
        values = [w.number(o, double) for o in operands[1:] if not is_predicate(o)]
        try:
            value = function(*values)
        except OverflowError:
            value = math.inf
        if double:
            w.put_wide(operands[0], from_double(value))
        else:
            w.put(operands[0], from_float(value))
    return handler


def f2i(w, modifiers, operands):
    value = w.number(operands[1], "F64" in modifiers)
    whole = 0 if math.isnan(value) or math.isinf(value) else int(value)
    if "U64" in modifiers or "S64" in modifiers:
        w.put_wide(operands[0], whole)
    else:
        w.put(operands[0], whole)


def i2f(w, modifiers, operands):
    wide = "U64" in modifiers or "S64" in modifiers
    value = w.integer(operands[1], wide)
    if "U32" not in modifiers and "U64" not in modifiers:
        value = signed(value, 64 if wide else 32)
    if "F64" in modifiers:
        w.put_wide(operands[0], from_double(float(value)))
    else:
        w.put(operands[0], from_float(float(value)))


def f2f(w, modifiers, operands):
    if modifiers[-1] == "F32" and modifiers[-2] == "F64":
        w.put_wide(operands[0], from_double(w.number(operands[1])))
    elif modifiers[-1] == "F64" and modifiers[-2] == "F32":
        w.put(operands[0], from_float(w.number(operands[1], True)))
    else:
        raise Unknown("f2f")


def f2fp(w, modifiers, operands):
    # two floats to packed bfloat16: upper half from the first
    def narrow(value):
        bits = from_float(value)
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF
    w.put(operands[0], narrow(w.number(operands[1])) << 16 | narrow(w.number(operands[2])))


def prmt(w, modifiers, operands):
    a, selector, b = (w.integer(o) for o in operands[1:4])
    source = (b << 32 | a).to_bytes(8, "little")
    out = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source[nibble & 7]
        out |= (0xFF if byte >> 7 else 0 if nibble & 8 else byte) << 8 * i if nibble & 8 else byte << 8 * i
    w.put(operands[0], out)


def special(w, modifiers, operands):
    name = operands[1]
    w.put(operands[0], w.thread if name == "SR_TID.X" else w.group.index if name == "SR_CTAID.X" else 0)


def move(w, modifiers, operands):
    if "64" in modifiers:
        w.put_wide(operands[0], w.integer(operands[1], True))
    elif operands[1].startswith("`") or re.match(r"-?(0x|U?R|c\[|~)", operands[1]):
        w.put(operands[0], w.integer(operands[1]))
    else:
        w.put(operands[0], from_float(w.number(operands[1])))


def hfma2(w, modifiers, operands):
    """used to load a constant: two halves after -RZ, RZ"""
    def half(text):
        return struct.unpack("<H", struct.pack("<e", float(text)))[0]
    if re.match(r"-?\d", operands[-1]) and re.match(r"-?\d", operands[-2]):
        w.put(operands[0], half(operands[-2]) << 16 | half(operands[-1]))
    else:
        raise Unknown("hfma2")


def width_of(modifiers):
    return 16 if "128" in modifiers else 8 if "64" in modifiers else 2 if {"U16", "S16"} & set(modifiers) else 1 if {
        "U8", "S8"} & set(modifiers) else 4


def inside(text):
    return re.search(r"\[([^\[\]]*)\]$", text).group(1)


def load(space):
    def handler(w, modifiers, operands):
        size, memory = width_of(modifiers), w.group.memory[space]
        address = w.address(inside(operands[1]))
        value = 0
        for i in range(0, size, 4):
            fallback = 0x3F00 if size == 2 else w.group.filling[space]
            value |= memory.get(address + i, fallback) << 8 * i
        w.put_wide(operands[0], value, max(1, size // 4))
    return handler


def store(space):
    def handler(w, modifiers, operands):
        size, memory = width_of(modifiers), w.group.memory[space]
        address = w.address(inside(operands[0]))
        if size <= 4:
            memory[address] = w.integer(operands[1]) & (1 << 8 * size) - 1
            return
        name = operands[1].replace(".reuse", "")
        kind, number = (None, None) if name == "RZ" else re.match(r"(U?R)(\d+)", name).groups()
        for i in range(0, size, 4):
            memory[address + i] = 0 if kind is None else w.register(f"{kind}{int(number) + i // 4}")
    return handler


def load_constant(w, modifiers, operands):
    size = width_of(modifiers)
    text = operands[1]
    offset = w.address(re.match(r"c\[0x0\]\[(.*)\]$", text).group(1))
    value = int.from_bytes(w.group.bank[offset:offset + size].ljust(size, b"\0"), "little")
    w.put_wide(operands[0], value, max(1, size // 4))


def predicate_to_register(w, modifiers, operands):
    bits = sum(int(w.predicates.get(f"P{i}", False)) << i for i in range(7))
    w.put(operands[0], bits & w.integer(operands[-1]) if operands[-1].startswith("0x") else bits)


def register_to_predicate(w, modifiers, operands):
    mask = w.integer(operands[-1])
    value = w.integer(operands[-2])
    for i in range(7):
        if mask >> i & 1:
            w.predicates[f"P{i}"] = bool(value >> i & 1)


def fchk(w, modifiers, operands):
    w.put_predicate(operands[0], False)


def clear(w, modifiers, operands):
    w.put_wide(operands[0], 0)


def vote(w, modifiers, operands):
    for o in operands:
        if re.match(r"U?P\d", o):
            w.put_predicate(o, w.predicate(operands[-1]))
        elif re.match(r"U?R\d", o):
            w.put(o, MASK if w.predicate(operands[-1]) else 0)


def product_sum(a, b, c):
    return a * b + c


HANDLERS = {
    "MOV": move, "IADD3": iadd3, "IADD": lambda w, m, o: iadd3(w, m, o + ["RZ"]), "VIADD": lambda w, m, o: iadd3(w, m, o + ["RZ"]),
    "IMAD": imad, "LEA": lea, "SHF": shf, "LOP3": lop3, "PLOP3": plop3, "ISETP": isetp, "SEL": select, "FSEL": fsel,
    "FSETP": lambda w, m, o: compare_floats(w, [x for x in m if x != "FTZ"], o, False),
    "DSETP": lambda w, m, o: compare_floats(w, m, o, True),
    "IMNMX": minimum, "VIMNMX": minimum, "VIADDMNMX": add_minimum, "FMNMX": fminmax, "MUFU": mufu,
    "FFMA": arithmetic(product_sum), "FMUL": arithmetic(lambda a, b: a * b), "FADD": arithmetic(lambda a, b: a + b),
    "DFMA": arithmetic(product_sum, True), "DMUL": arithmetic(lambda a, b: a * b, True),
    "DADD": arithmetic(lambda a, b: a + b, True), "F2I": f2i, "I2F": i2f, "I2FP": i2f, "F2F": f2f, "F2FP": f2fp,
    "FRND": arithmetic(lambda a: float(round(a))), "IABS": lambda w, m, o: w.put(o[0], abs(signed(w.integer(o[1])))),
    "PRMT": prmt, "S2R": special, "S2UR": special, "CS2R": clear, "HFMA2": hfma2, "R2UR": move, "LDC": load_constant,
    "LDCU": load_constant, "LDG": load("global"), "STG": store("global"), "LDS": load("local"), "STS": store("local"),
    "LDL": load("stack"), "STL": store("stack"), "P2R": predicate_to_register, "R2P": register_to_predicate,
    "FCHK": fchk, "VOTE": vote, "VOTEU": vote,
}
HANDLERS["ULDC"] = load_constant


# ---- a group ------------------------------------------------------------------------------------------


class Group:
    """runs one group of 256 work-items; counts of all its warps are in `issued`, by opcode"""

    def __init__(self, kernel, architecture, arguments, index=0):
        self.code, self.labels = kernel
        self.index, self.issued = index, collections.Counter()
        self.memory = {"global": {}, "local": {}, "stack": {}}
        self.filling = {"global": 0x3F000000, "local": 0, "stack": 0}
        self.places = {instruction.address: i for i, instruction in enumerate(self.code)}
        first = FIRST_PARAMETER[architecture]
        bank = bytearray(first + 16 * len(arguments) + 64)
        at, pointers = first, 0
        for kind, value in arguments:
            size = 4 if kind == "int" else 8
            at += -at % size
            if kind == "pointer":
                pointers += 1
                value = pointers << 40
            bank[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            at += size
        self.bank = bytes(bank)

    def count(self, instruction):
        if instruction.opcode != "NOP":
            self.issued[instruction.opcode] += 1

    def index_of(self, address):
        return self.places[address]

    def address_of(self, text):
        return self.code[self.labels[text[2:-1]]].address

    def run(self, warps=8):
        running = [Warp(self, i) for i in range(warps)]
        while running:
            waiting = [w.run() for w in running]
            if any(waiting) and not all(waiting):
                raise Unknown("some warps end while others wait at a barrier")
            running = running if all(waiting) else []
        return self.issued


# ---- test ---------------------------------------------------------------------------------------------

# five rounds of a loop, whose number is the kernel's third argument, between two barriers; warp 0 alone stores
EXAMPLE = """
.text.example:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   MOV R1, RZ ;
        /*0020*/                   LDC R4, c[0x0][0x220] ;
.L_x_0:
        /*0030*/                   IADD3 R1, R1, 0x1, RZ ;
        /*0040*/                   FFMA R2, R2, 1.5, R3 ;
        /*0050*/                   ISETP.GE.AND P0, PT, R1, R4, PT ;
        /*0060*/              @!P0 BRA `(.L_x_0) ;
        /*0070*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0080*/                   ISETP.NE.AND P1, PT, R0, RZ, PT ;
        /*0090*/               @P1 BRA `(.L_x_1) ;
        /*00a0*/                   STS [RZ+0x10], R1 ;
.L_x_1:
        /*00b0*/                   NOP ;
        /*00c0*/                   EXIT ;
"""


def test():
    group = Group(read_kernels(EXAMPLE)["example"], 90, [("pointer", 0), ("long", 0), ("int", 5)])
    issued = group.run()
    expected = {"S2R": 8, "MOV": 8, "LDC": 8, "IADD3": 40, "FFMA": 40, "ISETP": 48, "BRA": 48, "BAR": 8, "STS": 1, "EXIT": 8}
    assert dict(issued) == expected, dict(issued)
    assert group.memory["local"] == {0x10: 5}
    try:
        Group(read_kernels(EXAMPLE.replace("FFMA", "FOO"))["example"], 90, [("pointer", 0), ("long", 0), ("int", 5)]).run()
    except Unknown as error:
        assert "FOO" in str(error)
    else:
        raise AssertionError("an unknown opcode was executed")


if __name__ == "__main__":
    test()
