#!/bin/bash
# Builds the committed code objects of the kernels that go wrong: ../bin/<target>/faults/<name>.co, of assembler (*.s) and
# of OpenCL C (*.cl): source.co with debug info, offset.cl in three ways.
#
#   kernels/faults/build.sh            rebuild all of them in place
#   kernels/faults/build.sh --check    rebuild into a temporary folder and compare byte for byte with the committed ones
#   kernels/faults/build.sh --tools    only say what is missing
#
# Needs clang-22, lld-22, llvm-22 (llvm-mc, llvm-objcopy). CLANG, MC, LD and OBJCOPY override what is used. The exit status
# is 3 if something of it is missing. COMPILER names the compiler of the committed objects; another release may make other
# bytes, so --check then only sees whether all sources build.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clang=${CLANG:-clang-22}
mc=${MC:-llvm-mc-22}
ld=${LD:-ld.lld-22}
objcopy=${OBJCOPY:-llvm-objcopy-22}
libclc=${LIBCLC:-/usr/lib/clc/amdgcn-amd-amdhsa.bc}
targets=(gfx906 gfx90a gfx942 gfx950)

cd "$here"
missing=()
command -v "$clang" >/dev/null || missing+=("$clang (package clang-22)")
command -v "$mc" >/dev/null || missing+=("$mc (package llvm-22)")
command -v "$ld" >/dev/null || missing+=("$ld (package lld-22)")
command -v "$objcopy" >/dev/null || missing+=("$objcopy (package llvm-22)")
[[ -e $libclc ]] || missing+=("$libclc (package libclc-22)")
if ((${#missing[@]})); then
    printf 'kernels/faults/build.sh: not found: %s\n' "${missing[@]}" >&2
    exit 3
fi

[[ ${1-} != --tools ]] || exit 0

compiler=$("$clang" --version | head -n 1)
resources=$("$clang" -print-resource-dir)

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
out=$here/../bin
[[ ${1-} != --check ]] || out=$temporary/bin

compile() { # target source object flags...
    local object=$out/$1/faults/$3.co
    "$clang" -x cl -cl-std=CL2.0 -Wall -Werror -Wno-infinite-recursion -cl-kernel-arg-info \
        -Xclang -finclude-default-header -target amdgcn-amd-amdhsa -mcpu="$1" -nogpulib \
        -Xclang -mlink-builtin-bitcode -Xclang "$libclc" -fno-ident -mllvm -amdgpu-internalize-symbols \
        "${@:4}" "$2.cl" -o "$object"
    "$objcopy" --remove-section=.comment "$object"
    chmod 644 "$object"
}

for target in "${targets[@]}"; do
    mkdir -p "$out/$target/faults"
    for source in *.s; do
        object=$out/$target/faults/${source%.s}.co
        "$mc" -triple=amdgcn-amd-amdhsa -mcpu="$target" -filetype=obj "$source" -o "$temporary/object.o"
        "$ld" -shared "$temporary/object.o" -o "$object"
        "$objcopy" --remove-section=.comment "$object"
        chmod 644 "$object"
    done
    compile "$target" source source -O2 -g -fdebug-compilation-dir=kernels/faults "-fdebug-prefix-map=$resources=clang"
    compile "$target" recursion recursion -O2 -g -fdebug-compilation-dir=kernels/faults "-fdebug-prefix-map=$resources=clang"
    compile "$target" offset offset -O2
    compile "$target" offset offset_O0 -O0
    compile "$target" offset offset_v4 -O2 -mcode-object-version=4
    compile "$target" offset offset_v4_O0 -O0 -mcode-object-version=4
done

if [[ ${1-} != --check ]]; then
    echo "$compiler" >COMPILER
    exit 0
fi
if [[ $(cat COMPILER) != "$compiler" ]]; then
    echo "kernels/faults/build.sh: objects not compared: they were made by another compiler"
    exit 0
fi
status=0
for object in "$temporary"/bin/*/faults/*.co; do
    name=${object#"$temporary/bin/"}
    if ! cmp -s "$object" "../bin/$name"; then
        echo "kernels/faults/build.sh: bin/$name differs from what its source gives (or is absent)" >&2
        status=1
    fi
done
for object in ../bin/*/faults/*.co; do
    if [[ ! -e $temporary/bin/${object#../bin/} ]]; then
        echo "kernels/faults/build.sh: ${object#../} has no source" >&2
        status=1
    fi
done
[[ $status -ne 0 ]] || echo "kernels/faults/build.sh: all objects are as their sources give them"
exit $status
