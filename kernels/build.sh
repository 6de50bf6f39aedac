#!/bin/bash
# Builds the committed code objects bin/<target>/<kernel>.co from the sources beside this script.
#
#   kernels/build.sh            rebuild all of them in place
#   kernels/build.sh --check    rebuild into a temporary folder and compare byte for byte with the committed ones
#   kernels/build.sh --tools    only say what is missing; exit status 3 if something is
#
# Needs clang-22, lld-22, llvm-22 (llvm-objcopy) and libclc-22 (Debian: apt-get install --no-install-recommends clang-22
# lld-22 llvm-22 libclc-22). CLANG, OBJCOPY and LIBCLC override what is used. bin/COMPILER names the compiler of the
# committed objects; another release may make other bytes, so --check then only sees whether all sources compile.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
targets=(gfx906 gfx90a gfx942 gfx950)
clang=${CLANG:-clang-22}
objcopy=${OBJCOPY:-llvm-objcopy-22}
libclc=${LIBCLC:-/usr/lib/clc/amdgcn-amd-amdhsa.bc}

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

mode=build
case "${1-}" in
'') ;;
--check) mode=check ;;
--tools) mode=tools ;;
-h | --help) usage && exit 0 ;;
*) usage >&2 && exit 2 ;;
esac

missing=()
command -v "$clang" >/dev/null || missing+=("$clang (package clang-22)")
command -v "$objcopy" >/dev/null || missing+=("$objcopy (package llvm-22)")
[[ -e $libclc ]] || missing+=("$libclc (package libclc-22)")
if command -v "$clang" >/dev/null; then
    linker=$("$clang" -print-prog-name=ld.lld)
    command -v "$linker" >/dev/null || missing+=("ld.lld (package lld-22)")
fi
if ((${#missing[@]})); then
    printf 'kernels/build.sh: not found: %s\n' "${missing[@]}" >&2
    exit 3
fi
[[ $mode != tools ]] || exit 0

# Contraction is off everywhere: a kernel does the operations that its source says, and its reference on the host does
# the same. Division and square root are correctly rounded, except in softmax and nbody, which are there for the native
# approximations (see flags_of). -amdgpu-internalize-symbols drops the copies of kernels that clang makes for calls from
# other kernels. Nothing of the host (paths, versions) reaches the objects: no debug info, no ident, no .comment.
flags=(-x cl -cl-std=CL2.0 -O2 -Wall -Werror -ffp-contract=off -cl-kernel-arg-info
    -Xclang -finclude-default-header -include workitem.h
    -target amdgcn-amd-amdhsa -nogpulib -Xclang -mlink-builtin-bitcode -Xclang "$libclc"
    -fno-ident -mllvm -amdgpu-internalize-symbols)

flags_of() {
    case "$1" in
    softmax | nbody) ;;
    flushed) echo -cl-fp32-correctly-rounded-divide-sqrt -cl-denorms-are-zero ;;
    preload) echo -mllvm -amdgpu-kernarg-preload-count=16 ;;
    *) echo -cl-fp32-correctly-rounded-divide-sqrt ;;
    esac
}

compiler=$("$clang" --version | head -n 1)
compare=no
out=$here/bin
if [[ $mode == check ]]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    if [[ $(cat "$here/bin/COMPILER") == "$compiler" ]]; then
        compare=yes
    else
        echo "kernels/build.sh: objects not compared: $compiler here, $(cat "$here/bin/COMPILER") when they were made"
    fi
fi

cd "$here"
status=0
for target in "${targets[@]}"; do
    mkdir -p "$out/$target"
    for source in *.cl; do
        name=${source%.cl}
        object=$target/$name.co
        # shellcheck disable=SC2046
        "$clang" "${flags[@]}" -mcpu="$target" $(flags_of "$name") "$source" -o "$out/$object"
        "$objcopy" --remove-section=.comment "$out/$object"
        chmod 644 "$out/$object"
        if [[ $compare == yes ]] && ! cmp -s "$out/$object" "bin/$object"; then
            echo "kernels/build.sh: bin/$object differs from what its source gives (or is absent)" >&2
            status=1
        fi
    done
done

# An object whose source is gone is as wrong as a stale one.
for object in bin/*/*.co; do
    if [[ ! -e $(basename "$object" .co).cl ]]; then
        echo "kernels/build.sh: $object has no source" >&2
        status=1
    fi
done
if [[ $mode == build ]]; then
    echo "$compiler" >bin/COMPILER
elif [[ $status -eq 0 && $compare == yes ]]; then
    echo "kernels/build.sh: all objects are as their sources give them"
fi
exit $status
