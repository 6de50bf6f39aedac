"""Files that tinygrad's assembler makes: machine code and a kernel descriptor, without symbols."""

import struct

#: The machine in e_flags of code objects.
MACHINES = {"gfx942": 0x4C, "gfx950": 0x4F}

#: EF_AMDGPU_FEATURE_XNACK_ANY_V4 and EF_AMDGPU_FEATURE_SRAMECC_ANY_V4.
ANY_FEATURES = 0x500

EM_AMDGPU, ELFOSABI_AMDGPU_HSA, ABI_VERSION_V5 = 224, 64, 3
ET_DYN, PT_LOAD, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB = 3, 1, 1, 2, 3
DESCRIPTOR_SIZE = 64

#: Bytes before kernel_code_entry_byte_offset in a descriptor.
ENTRY_OFFSET = 16

SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")


def sections(file):
    """Name, type, address, offset and size of each section of an ELF file of 64 bits."""
    table, count, names = struct.unpack_from("<Q", file, 40)[0], *struct.unpack_from("<HH", file, 60)
    headers = [SECTION.unpack_from(file, table + SECTION.size * number) for number in range(count)]
    strings = headers[names][4]
    for name, kind, _, address, offset, size, *_ in headers:
        end = file.index(b"\0", strings + name)
        yield file[strings + name : end].decode(), kind, address, offset, size


def is_assembled(file):
    """Whether a file is one of tinygrad's assembler: it has a descriptor, and no symbols."""
    try:
        found = list(sections(file)) if file[:5] == b"\x7fELF\x02" else []
    except (ValueError, IndexError, struct.error):
        # Wavemill's loader says what is wrong with it.
        return False
    return any(name == ".rodata" for name, *_ in found) and not any(kind == SHT_SYMTAB for _, kind, *_ in found)


def code_object(file, name, arch):
    """A code object with the kernel of a file of tinygrad's assembler.

    Raises ValueError if the target is unknown or the file is not of the expected form.
    """
    if arch not in MACHINES:
        raise ValueError(f"tinygrad's assembler has no instructions of {arch}; expected {' or '.join(MACHINES)}")
    found = {section: (offset, size) for section, _, _, offset, size in sections(file)}
    (text, text_size), (descriptor, descriptor_size) = found[".text"], found[".rodata"]
    if descriptor_size != DESCRIPTOR_SIZE or text < HEADER.size + SEGMENT.size:
        raise ValueError(
            f"`{name}`: .rodata has {descriptor_size} bytes; expected a kernel descriptor of {DESCRIPTOR_SIZE}"
        )
    end = descriptor + descriptor_size
    body = bytearray(file[:end])
    # The code begins with its section. The distance that tinygrad 0.14.0 writes is right only if the size of the section
    # is a multiple of 64.
    struct.pack_into("<q", body, descriptor + ENTRY_OFFSET, text - descriptor)
    strings = b"\0" + name.encode() + b"\0" + name.encode() + b".kd\0"
    symbols = SYMBOL.pack(0, 0, 0, 0, 0, 0)
    # A function in the first section, and an object in the second; both are global and protected.
    symbols += SYMBOL.pack(1, 0x12, 3, 1, text, text_size)
    symbols += SYMBOL.pack(len(name.encode()) + 2, 0x11, 3, 2, descriptor, descriptor_size)
    names = b"\0.text\0.rodata\0.symtab\0.strtab\0"
    symbols_at = len(body)
    strings_at = symbols_at + len(symbols)
    names_at = strings_at + len(strings)
    headers_at = -(-(names_at + len(names)) // 8) * 8
    body += symbols + strings + names
    body += bytes(headers_at - len(body))
    alloc, exec_ = 2, 4
    for header in [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (names.index(b".text"), SHT_PROGBITS, alloc | exec_, text, text, text_size, 0, 0, 256, 0),
        (names.index(b".rodata"), SHT_PROGBITS, alloc, descriptor, descriptor, descriptor_size, 0, 0, 64, 0),
        (names.index(b".symtab"), SHT_SYMTAB, 0, 0, symbols_at, len(symbols), 4, 1, 8, SYMBOL.size),
        (names.index(b".strtab"), SHT_STRTAB, 0, 0, strings_at, len(strings), 0, 0, 1, 0),
        (names.index(b".strtab"), SHT_STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0),
    ]:
        body += SECTION.pack(*header)
    identification = b"\x7fELF" + bytes([2, 1, 1, ELFOSABI_AMDGPU_HSA, ABI_VERSION_V5]) + bytes(7)
    flags = MACHINES[arch] | ANY_FEATURES
    HEADER.pack_into(
        body, 0, identification, ET_DYN, EM_AMDGPU, 1, 0, HEADER.size, headers_at, flags, 64, SEGMENT.size, 1, 64, 6, 5
    )
    # Readable and executable.
    SEGMENT.pack_into(body, HEADER.size, PT_LOAD, 5, 0, 0, 0, end, end, 4096)
    return bytes(body)
