"""The host part of programs that IREE's compiler made, as far as programs with static shapes need it.

`iree-compile --compile-to=hal` writes, as text, which dispatches a program has, with what grids and constants, and
which parts of which buffers each of them is bound to. `Program` reads that, and runs the dispatches with Wavemill.

A kernel receives the addresses of its bindings, and then its constants of 32 bits, as IREE's HIP driver passes them
(`runtime/src/iree/hal/drivers/hip/stream_command_buffer.c`).
"""

import re
from dataclasses import dataclass, field

import numpy as np

import wavemill


class Unknown(Exception):
    """The program has something that this module does not run."""


@dataclass
class Dispatch:
    """A launch of a kernel. A binding is the number of a buffer, an offset and a size in bytes."""

    kernel: str
    grid: tuple
    constants: list
    bindings: list


@dataclass
class Fill:
    """A part of a buffer that becomes a repeated pattern."""

    binding: tuple
    pattern: bytes


@dataclass
class Copy:
    """A copy from a part of a buffer to another."""

    source: tuple
    target: tuple


@dataclass
class Commands:
    """A command buffer."""

    commands: list = field(default_factory=list)


# `%name = arith.constant 5 : index`
CONSTANT = re.compile(r"%(\S+) = arith\.constant (-?\w+) : (i1|i8|i16|i32|i64|index)")
# `(%buffer : !hal.buffer)[%c0, %c12288]`, `(%c4 : index)[%c0, %c10240]`
BINDING = re.compile(r"\(%(\S+) : (?:!hal\.buffer|index)\)\[%(\S+), %(\S+)\]")


def _names(text):
    """The values that a list such as `%c1, %c2` names."""
    return re.findall(r"%([^\s,\])]+)", text)


def _statements(lines):
    """The statements of a function: lines up to the one that closes the brackets of the first."""
    lines = iter(lines)
    for line in lines:
        line = line.strip()
        while line.endswith("([") or (line.count("([") > line.count("])")):
            line += " " + next(lines).strip()
        yield line


class Function:
    """The statements of a function, and its constants."""

    def __init__(self, lines):
        self.statements = list(_statements(lines))
        self.constants = {}
        for statement in self.statements:
            found = CONSTANT.match(statement)
            if found:
                text = found[2]
                self.constants[found[1]] = {"true": 1, "false": 0}.get(text) if text in ("true", "false") else int(text)

    def value(self, name):
        """The value of a constant."""
        if name not in self.constants:
            raise Unknown(f"%{name} is no constant: the program has dynamic shapes")
        return self.constants[name]

    def binding(self, found):
        """A binding whose buffer is a number."""
        return tuple(self.value(name) for name in found)


def _commands(function):
    """The commands of a function that records a command buffer."""
    kernels, result = {}, Commands()
    for statement in function.statements:
        found = re.match(r"%(\S+) = hal\.executable\.lookup\.function .*@([^\s@:)]+)\) : i64", statement)
        if found:
            kernels[found[1]] = found[2].strip('"')
        if not statement.startswith("hal.command_buffer."):
            continue
        if statement.startswith("hal.command_buffer.dispatch<"):
            kernel = re.search(r"\)\[%([^\]]+)\] workgroups\(\[([^\]]*)\]\)", statement)
            constants = re.search(r"constants\(\[([^\]]*)\]\)", statement)
            bindings = statement[statement.index("bindings([") :]
            result.commands.append(
                Dispatch(
                    kernels[kernel[1]],
                    tuple(function.value(name) for name in _names(kernel[2])),
                    [function.value(name) for name in _names(constants[1])] if constants else [],
                    [function.binding(found) for found in BINDING.findall(bindings)],
                )
            )
        elif statement.startswith("hal.command_buffer.fill_buffer<"):
            target = function.binding(BINDING.search(statement).groups())
            pattern = re.search(r"pattern\(%(\S+) : i(\d+)\)", statement)
            size = int(pattern[2]) // 8
            value = function.value(pattern[1]) & (1 << 8 * size) - 1
            result.commands.append(Fill(target, value.to_bytes(size, "little")))
        elif statement.startswith("hal.command_buffer.copy_buffer<"):
            found = re.search(
                r"source\(%(\S+) : \S+\)\[%(\S+)\] target\(%(\S+) : \S+\)\[%(\S+)\] length\(%(\S+)\)", statement
            )
            if not found:
                raise Unknown(statement)
            source, source_at, target, target_at, size = (function.value(name) for name in found.groups())
            result.commands.append(Copy((source, source_at, size), (target, target_at, size)))
        elif not re.match(r"hal\.command_buffer\.(execution_barrier|finalize)<", statement):
            raise Unknown(statement)
    return result


class Program:
    """A function of a program. `text` is what `--compile-to=hal` writes, `code_object` is the machine code."""

    def __init__(self, text, function, code_object, target):
        self.module = wavemill.Module.load(code_object, target)
        functions = {}
        current = None
        for line in text.splitlines():
            found = re.match(r"  util\.func (?:public|private) @([^\s(]+)\(", line)
            if found:
                current = functions.setdefault(found[1], [])
                header = line
            elif line.startswith("  }"):
                current = None
            elif current is not None:
                current.append(line)
            if found and found[1] == function:
                self.header = header
        if function not in functions:
            raise Unknown(f"there is no function {function}")
        self.main = Function(functions[function])
        self.recorded = {
            name: _commands(Function(lines))
            for name, lines in functions.items()
            if any("hal.command_buffer.create" in line for line in lines)
        }

    def __call__(self, *arguments):
        """Runs the function on arrays. Returns the bytes of its results, and the instructions that waves ran."""
        buffers, results, instructions = {}, [], 0
        for statement in self.main.statements:
            found = re.match(r"%(\S+) = hal\.buffer_view\.buffer<%arg(\d+) ", statement)
            if found:
                buffers[found[1]] = arguments[int(found[2])].reshape(-1).view(np.uint8)
            found = re.match(r"%(\S+) = hal\.device\.queue\.alloca<.*!hal\.buffer\{%(\S+)\}", statement)
            if found:
                # Never initialised: every byte that a program reads must have been written.
                buffers[found[1]] = np.full(self.main.value(found[2]), 0xCD, np.uint8)
            if statement.startswith("hal.device.queue.execute"):
                commands = re.search(r"commands\(%(?:__)?(\S+)_memoize_result_\d+_device_0\)", statement)
                table = [
                    buffers[name][self.main.value(at) :][: self.main.value(size)]
                    for name, at, size in BINDING.findall(statement)
                ]
                recorded = [
                    record for name, record in self.recorded.items() if commands and f"{commands[1]}_memoize" in name
                ]
                if len(recorded) != 1:
                    raise Unknown(statement)
                instructions += self._execute(recorded[0], table)
            elif statement.startswith("%view"):
                found = re.search(r"buffer\(%(\S+) : !hal\.buffer\)\[%(\S+), %(\S+)\]", statement)
                name, at, size = found.groups()
                results.append(buffers[name][self.main.value(at) :][: self.main.value(size)])
        return results, instructions

    def _execute(self, recorded, table):
        def part(binding):
            buffer, at, size = binding
            return table[buffer][at:][:size]

        instructions = 0
        for command in recorded.commands:
            match command:
                case Dispatch():
                    kernel = self.module[command.kernel]
                    if kernel.required_block is None:
                        raise Unknown(f"the size of workgroups of {command.kernel} is not in the code object")
                    stats = kernel[command.grid, kernel.required_block](
                        *[part(binding) for binding in command.bindings],
                        *[wavemill.u32(constant & 0xFFFFFFFF) for constant in command.constants],
                    )
                    instructions += stats.instructions
                case Fill():
                    target = part(command.binding)
                    target[:] = np.resize(np.frombuffer(command.pattern, np.uint8), target.size)
                case Copy():
                    part(command.target)[:] = part(command.source)
        return instructions
