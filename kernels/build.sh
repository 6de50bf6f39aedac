#!/bin/bash
# Builds the committed code objects from the sources beside this script, each at three levels of optimisation:
# bin/<target>/<kernel>.co at -O2, bin/<target>/O0/<kernel>.co at -O0 with debug info, bin/<target>/O3/<kernel>.co at -O3.
#
#   kernels/build.sh            rebuild all of them in place
#   kernels/build.sh NAME...    rebuild those of some sources only
#   kernels/build.sh --check [LEVEL...]
#                               rebuild into a temporary folder and compare byte for byte with the committed ones: all of
#                               them, or those of some levels
#   kernels/build.sh --tools    only say what is missing; exit status 3 if something is
#
# Needs clang-22, lld-22, llvm-22 (llvm-objcopy) and libclc-22 (Debian: apt-get install --no-install-recommends clang-22
# lld-22 llvm-22 libclc-22). CLANG, OBJCOPY and LIBCLC override what is used, JOBS how many compilers run at once.
# bin/COMPILER names the compiler of the committed objects; another release may make other bytes, so --check then only
# sees whether all sources compile.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
targets=(gfx906 gfx90a gfx942 gfx950)
levels=(O0 O2 O3)
clang=${CLANG:-clang-22}
objcopy=${OBJCOPY:-llvm-objcopy-22}
libclc=${LIBCLC:-/usr/lib/clc/amdgcn-amd-amdhsa.bc}

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

# Contraction is off everywhere: a kernel does the operations that its source says, and its reference on the host does
# the same. Division and square root are correctly rounded, except in the kernels that are there for the native
# approximations (see flags_of). -amdgpu-internalize-symbols drops the copies of kernels that clang makes for calls from
# other kernels. Nothing of the host reaches the objects: no ident, no .comment, and no path but those of the sources
# from the root of the repository.
flags=(-x cl -cl-std=CL2.0 -Wall -Werror -ffp-contract=off -cl-kernel-arg-info
    -Xclang -finclude-default-header -include workitem.h -include fused.h
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

# The path of an object inside bin.
place() { # level target name
    if [[ $1 == O2 ]]; then echo "$2/$3.co"; else echo "$2/$1/$3.co"; fi
}

build_one() { # folder resources level target name
    local level=$3 target=$4 name=$5 object
    object=$1/$(place "$level" "$target" "$name")
    local own=("-$level" "-mcpu=$target") strip=(--remove-section=.comment)
    case $level in
    # The source is kernels/<name>.cl in the debug info; the compiler's own headers lie in a folder that need not exist.
    O0) own+=(-g -fdebug-compilation-dir=kernels "-fdebug-prefix-map=$2=clang") ;;
    O3) strip=(--strip-all) ;;
    esac
    # shellcheck disable=SC2046
    "$clang" "${flags[@]}" "${own[@]}" $(flags_of "$name") "$name.cl" -o "$object"
    "$objcopy" "${strip[@]}" "$object"
    chmod 644 "$object"
}

mode=build
only=()
case "${1-}" in
--check)
    mode=check
    if (($# > 1)); then
        levels=("${@:2}")
        for level in "${levels[@]}"; do
            [[ $level == O[023] ]] || { usage >&2 && exit 2; }
        done
    fi
    ;;
--tools) mode=tools ;;
# How the script calls itself.
--one)
    cd "$here"
    build_one "${@:2}"
    exit 0
    ;;
-h | --help) usage && exit 0 ;;
-*) usage >&2 && exit 2 ;;
*) only=("$@") ;;
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
resources=$("$clang" -print-resource-dir)
names=("${only[@]}")
if ((${#names[@]} == 0)); then
    names=(*.cl)
    names=("${names[@]%.cl}")
fi
each() { # command...: once for each object, with level, target and name
    local level target name
    for level in "${levels[@]}"; do
        for target in "${targets[@]}"; do
            for name in "${names[@]}"; do
                "$@" "$level" "$target" "$name"
            done
        done
    done
}
for target in "${targets[@]}"; do
    mkdir -p "$out/$target"/{O0,O3}
done
each printf '%s %s %s\n' |
    xargs -P "${JOBS:-$(nproc)}" -L 1 bash "$here/build.sh" --one "$out" "$resources"

status=0
compare_one() { # level target name
    local object
    object=$(place "$@")
    if ! cmp -s "$out/$object" "bin/$object"; then
        echo "kernels/build.sh: bin/$object differs from what its source gives (or is absent)" >&2
        status=1
    fi
}
[[ $compare == no ]] || each compare_one

# An object whose source is gone is as wrong as a stale one.
for object in bin/*/*.co bin/*/O?/*.co; do
    if [[ ! -e $(basename "$object" .co).cl ]]; then
        echo "kernels/build.sh: $object has no source" >&2
        status=1
    fi
done
if [[ $mode == build && ${#only[@]} -eq 0 ]]; then
    echo "$compiler" >bin/COMPILER
elif [[ $mode == check && $status -eq 0 && $compare == yes ]]; then
    echo "kernels/build.sh: all objects of ${levels[*]} are as their sources give them"
fi
exit $status
