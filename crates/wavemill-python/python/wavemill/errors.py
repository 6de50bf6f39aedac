"""Exceptions. The text of each is the report that the command `wavemill` prints."""


class Error(Exception):
    """The base class of all errors of Wavemill."""


class ArgumentError(Error, TypeError):
    """An argument does not fit its parameter, or an option is wrong. Nothing has run."""


class AssemblyError(Error):
    """A source has errors.

    reports: line, column and text of each error.
    """

    def __init__(self, text, *, reports=()):
        super().__init__(text)
        self.reports = list(reports)


class GuestFault(Error):
    """A kernel did something illegal.

    kernel: name of the launched kernel.
    pc: address of the instruction.
    instruction: its text, or None.
    function: name of the function that has it, or None.
    file, line: its location in the source, or None without debug information.
    lanes: numbers of the lanes at fault.
    addresses: the address that each of them accessed.
    workgroup, wave: the wave at fault.
    report: the report with the registers of the wave.
    data: all fields of the report, as the command's JSON has them.
    """

    def __init__(
        self,
        text,
        *,
        kernel=None,
        pc=0,
        instruction=None,
        function=None,
        file=None,
        line=None,
        lanes=(),
        addresses=(),
        workgroup=(0, 0, 0),
        wave=0,
        report=None,
        data=None,
    ):
        super().__init__(text)
        self.kernel = kernel
        self.pc = pc
        self.instruction = instruction
        self.function = function
        self.file = file
        self.line = line
        self.lanes = list(lanes)
        self.addresses = list(addresses)
        self.workgroup = workgroup
        self.wave = wave
        self.report = text if report is None else report
        self.data = data

    def _repr_html_(self):
        from html import escape

        details = f"<details><summary>All details</summary><pre>{escape(self.report)}</pre></details>"
        return f"<pre>{escape(str(self))}</pre>{details}"


class Unsupported(GuestFault):
    """A kernel reached an instruction, or a form of one, that Wavemill does not run."""


class _Unfinished(Error):
    def __init__(self, text, *, kernel=None, waves=(), not_started=0):
        super().__init__(text)
        self.kernel = kernel
        self.waves = list(waves)
        self.not_started = not_started


class Stalled(_Unfinished):
    """All waves wait for something that will never happen.

    kernel: name of the launched kernel.
    waves: what each resident wave does.
    not_started: workgroups that could not start.
    """


class LimitReached(_Unfinished):
    """A kernel ran more instructions than max_instructions, or longer than time_limit.

    kernel: name of the launched kernel.
    waves: what each running wave did.
    not_started: workgroups that had not started.
    """


class Stopped(_Unfinished):
    """A run was stopped before its end.

    kernel: name of the launched kernel.
    waves: what each running wave did.
    not_started: workgroups that had not started.
    """
