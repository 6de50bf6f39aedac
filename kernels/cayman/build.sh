#!/bin/bash
# Builds the committed object files for Cayman (Radeon HD 6900) from the sources of kernels/: ../bin/cayman/<name>.o, with
# LLVM's r600 backend. An object has the kernels of its source that this backend can compile; ABSENT has the others, with
# the reasons that the compilers give.
#
#   kernels/cayman/build.sh            rebuild all of them in place
#   kernels/cayman/build.sh NAME...    rebuild those of some sources only
#   kernels/cayman/build.sh --check    rebuild into a temporary folder and compare byte for byte with the committed ones
#   kernels/cayman/build.sh --text FOLDER
#                                      write LLVM's text of all of them, with the encodings: FOLDER/<name>.s
#   kernels/cayman/build.sh --tools    only say what is missing; exit status 3 if something is
#
# Needs clang-22, llvm-22 (opt, llc, llvm-dis) and libclc-22 (Debian: apt-get install --no-install-recommends clang-22
# llvm-22 libclc-22). CLANG, OPT, LLC, DIS and LIBCLC override what is used, JOBS how many compilers run at once. COMPILER
# names the compiler and the library of the committed objects; others may make other bytes, so --check then only sees
# whether the script runs.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clang=${CLANG:-clang-22}
opt=${OPT:-opt-22}
llc=${LLC:-llc-22}
dis=${DIS:-llvm-dis-22}
libclc=${LIBCLC:-/usr/lib/clc/cayman-r600--.bc}

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

# The extensions are there so that a source whose other kernels use doubles or halves compiles up to the backend.
flags=(-x cl -cl-std=CL1.2 -O2 -w -ffp-contract=off -fno-ident -target r600-- -mcpu=cayman -nogpulib
    -Xclang -finclude-default-header -include cayman/compat.h -Xclang -mlink-builtin-bitcode -Xclang "$libclc"
    -Xclang -cl-ext=+cl_khr_fp64,+cl_khr_fp16,+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics)

flags_of() {
    case "$1" in
    flushed) echo -cl-denorms-are-zero ;;
    esac
}

# The reason in the output of a compiler that failed: its first error, without the operands of LLVM's nodes, which have
# addresses of its memory.
reason() { # status file
    local line
    line=$(grep -m 1 -E 'error:|LLVM ERROR:' "$2" | sed -E 's/^.*(error|LLVM ERROR): //; s/^.* in function .*\): //
            s/; did you mean.*//; s/Cannot select: .* = ([A-Za-z_]+).*/Cannot select: \1/') || true
    case $1 in
    0) ;;
    124 | 137) line='it does not end within two minutes' ;;
    *) [[ -n $line ]] || line="it crashes (exit status $1)" ;;
    esac
    echo "${line:0:150}"
}

# Writes <folder>/<name>.o and <folder>/<name>.absent, and <folder>/<name>.s in the mode `text`.
build_one() { # mode folder name
    local mode=$1 folder=$2 name=$3 work kernels kernel good=() status
    work=$folder/$name.work
    mkdir -p "$work"
    : >"$folder/$name.absent"
    status=0
    # shellcheck disable=SC2046
    "$clang" "${flags[@]}" $(flags_of "$name") -emit-llvm -c "$name.cl" -o "$work/all.bc" 2>"$work/log" || status=$?
    if ((status)); then
        echo "$name * clang: $(reason $status "$work/log")" >"$folder/$name.absent"
        return
    fi
    kernels=$("$dis" "$work/all.bc" -o - | sed -nE 's/^define .*(amdgpu|spir)_kernel void @([A-Za-z0-9_]+)\(.*/\2/p')
    for kernel in $kernels; do
        # LLVM has no calls there, and LDS of a function only in the kernel that it is inlined into.
        status=0
        "$opt" -passes='internalize,globaldce,always-inline,inline,globaldce,default<O2>' \
            -internalize-public-api-list="$kernel" "$work/all.bc" -o "$work/$kernel.bc" 2>"$work/log" || status=$?
        if ((status)); then
            echo "$name $kernel opt: $(reason $status "$work/log")" >>"$folder/$name.absent"
            continue
        fi
        # A crash is a result, not a reason for a core file.
        (
            ulimit -c 0
            timeout -k 5 120 "$llc" -mtriple=r600-- -mcpu=cayman -O2 -filetype=obj "$work/$kernel.bc" -o "$work/$kernel.o"
            exit $?
        ) >"$work/log" 2>&1 || status=$?
        if ((status)); then
            echo "$name $kernel llc: $(reason $status "$work/log")" >>"$folder/$name.absent"
            continue
        fi
        good+=("$kernel")
    done
    if ((${#good[@]})); then
        local list
        list=$(IFS=,; echo "${good[*]}")
        "$opt" -passes='internalize,globaldce,always-inline,inline,globaldce,default<O2>' \
            -internalize-public-api-list="$list" "$work/all.bc" -o "$work/good.bc"
        "$llc" -mtriple=r600-- -mcpu=cayman -O2 -filetype=obj "$work/good.bc" -o "$folder/$name.o"
        [[ $mode != text ]] || "$llc" -mtriple=r600-- -mcpu=cayman -O2 -show-mc-encoding "$work/good.bc" -o "$folder/$name.s"
        chmod 644 "$folder/$name.o"
    fi
    rm -r "$work"
}

mode=build
only=()
case "${1-}" in
--check) mode=check ;;
--tools) mode=tools ;;
--text)
    (($# == 2)) || { usage >&2 && exit 2; }
    mode=text
    text=$(realpath "$2")
    ;;
# How the script calls itself.
--one)
    cd "$here/.."
    build_one "${@:2}"
    exit 0
    ;;
-h | --help) usage && exit 0 ;;
-*) usage >&2 && exit 2 ;;
*) only=("$@") ;;
esac

missing=()
command -v "$clang" >/dev/null || missing+=("$clang (package clang-22)")
for tool in "$opt" "$llc" "$dis"; do
    command -v "$tool" >/dev/null || missing+=("$tool (package llvm-22)")
done
[[ -e $libclc ]] || missing+=("$libclc (package libclc-22)")
if ((${#missing[@]})); then
    printf 'kernels/cayman/build.sh: not found: %s\n' "${missing[@]}" >&2
    exit 3
fi
[[ $mode != tools ]] || exit 0

tools=$("$clang" --version | head -n 1)
tools+=$'\n'"${libclc##*/} $(sha256sum <"$libclc" | cut -d ' ' -f 1)"

cd "$here/.."
names=("${only[@]}")
if ((${#names[@]} == 0)); then
    names=(*.cl)
    names=("${names[@]%.cl}")
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash "$here/build.sh" --one "$mode" "$out" {}
absent() { # folder
    cat <<'END'
# Kernels that have no object for Cayman: source, kernel (* for all of the source), compiler, and its first error.
# build.sh writes this file.
END
    cat "$1"/*.absent
}

if [[ $mode == text ]]; then
    mv "$out"/*.s "$text"
    exit 0
fi
if [[ $mode == build ]]; then
    mkdir -p bin/cayman
    for name in "${names[@]}"; do
        rm -f "bin/cayman/$name.o"
        [[ ! -e $out/$name.o ]] || mv "$out/$name.o" bin/cayman/
    done
    if ((${#only[@]} == 0)); then
        absent "$out" >cayman/ABSENT
        echo "$tools" >cayman/COMPILER
    else
        cat "$out"/*.absent
    fi
    exit 0
fi
if [[ $(cat cayman/COMPILER) != "$tools" ]]; then
    echo "kernels/cayman/build.sh: objects not compared: they were made by another compiler or library"
    exit 0
fi
status=0
for name in "${names[@]}"; do
    [[ ! -e $out/$name.o && ! -e bin/cayman/$name.o ]] || cmp -s "$out/$name.o" "bin/cayman/$name.o" || {
        echo "kernels/cayman/build.sh: bin/cayman/$name.o differs from what its source gives (or is absent)" >&2
        status=1
    }
done
for object in bin/cayman/*.o; do
    if [[ ! -e $(basename "$object" .o).cl ]]; then
        echo "kernels/cayman/build.sh: $object has no source" >&2
        status=1
    fi
done
if ! diff <(absent "$out") cayman/ABSENT >&2; then
    echo "kernels/cayman/build.sh: cayman/ABSENT differs from what the compilers say" >&2
    status=1
fi
[[ $status -ne 0 ]] || echo "kernels/cayman/build.sh: all objects are as their sources give them"
exit $status
