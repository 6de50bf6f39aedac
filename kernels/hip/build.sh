#!/bin/bash
# Builds the committed code objects from the HIP sources beside this script: ../bin/<target>/hip/<name>.co at -O2,
# ../bin/<target>/O0/hip/<name>.co at -O0 with debug info, ../bin/<target>/O3/hip/<name>.co at -O3.
#
#   kernels/hip/build.sh            rebuild all of them in place
#   kernels/hip/build.sh --check    rebuild into a temporary folder and compare byte for byte with the committed ones
#   kernels/hip/build.sh --tools    only say what is missing
#
# Needs clang-22, lld-22, llvm-22 (llvm-objcopy) and ROCm's device library as bitcode (Debian: rocm-device-libs).
# CLANG, OBJCOPY and DEVLIBS override what is used. The exit status is 3 if something of it is missing. COMPILER names the
# compiler and the library of the committed objects; others may make other bytes, so --check then only sees whether all
# sources compile.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clang=${CLANG:-clang-22}
objcopy=${OBJCOPY:-llvm-objcopy-22}
devlibs=${DEVLIBS:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
levels=(O0 O2 O3)
declare -A isa=([gfx906]=9006 [gfx90a]=9010 [gfx942]=9402 [gfx950]=9500)

cd "$here"
missing=()
command -v "$clang" >/dev/null || missing+=("$clang (package clang-22)")
command -v "$objcopy" >/dev/null || missing+=("$objcopy (package llvm-22)")
[[ -e $devlibs/ockl.bc ]] || missing+=("$devlibs/ockl.bc (package rocm-device-libs)")
if ((${#missing[@]})); then
    printf 'kernels/hip/build.sh: not found: %s\n' "${missing[@]}" >&2
    exit 3
fi

[[ ${1-} != --tools ]] || exit 0

tools=$("$clang" --version | head -n 1)$'\n'"ockl.bc $(sha256sum <"$devlibs/ockl.bc" | cut -d ' ' -f 1)"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
out=$here/../bin
[[ ${1-} != --check ]] || out=$temporary/bin

build() { # target source object version of code objects, flags...
    for level in "${levels[@]}"; do build_at "$level" "$@"; done
}

build_at() { # level target source object version of code objects, flags...
    local level=$1
    shift
    local target=$1 source=$2 folder=$out/$1 version=$4 own=("-$level") strip=(--strip-all)
    case $level in
    O0) folder+=/O0 own+=(-g -fdebug-compilation-dir=kernels/hip) strip=(--remove-section=.comment) ;;
    O3) folder+=/O3 ;;
    esac
    local object=$folder/hip/$3.co
    mkdir -p "$(dirname "$object")"
    "$clang" -x hip --offload-arch="$target" --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -fuse-cuid=none \
        "${own[@]}" -Wall -Werror -Wno-format -Wno-format-security -Wno-linker-warnings -fno-ident -ffp-contract=off \
        -Xclang -mlink-builtin-bitcode -Xclang "$devlibs/ockl.bc" \
        -Xclang -mlink-builtin-bitcode -Xclang "$temporary/$target.$version.bc" -mcode-object-version="$version" "${@:5}" \
        "$source.hip" -o "$object"
    "$objcopy" "${strip[@]}" "$object"
    chmod 644 "$object"
}

for target in "${!isa[@]}"; do
    for version in 4 6; do
        "$clang" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$target" -nogpulib -O2 -fno-ident \
            -DISA="${isa[$target]}" -DABI="${version}00" -Xclang -mcode-object-version=none \
            -emit-llvm -c control.cl -o "$temporary/$target.$version.bc"
    done
    build "$target" hip_printf hip_printf 6
    build "$target" hip_printf hip_printf_buffered 6 -mprintf-kind=buffered
    build "$target" hip_assert hip_assert 6
    build "$target" hip_malloc hip_malloc 6
    build "$target" hip_malloc hip_malloc_v4 4
    build "$target" hip_grid_sync hip_grid_sync 6
    build "$target" hip_grid_sync hip_grid_sync_v4 4 -DGRID_SYNC_SLOT=6
    # gfx906 has no matrix instructions.
    [[ $target = gfx906 ]] || build "$target" hip_matrix hip_matrix 6
done

if [[ ${1-} != --check ]]; then
    echo "$tools" >COMPILER
    exit 0
fi
if [[ $(cat COMPILER) != "$tools" ]]; then
    echo "kernels/hip/build.sh: objects not compared: they were made by another compiler or library"
    exit 0
fi
status=0
for object in "$temporary"/bin/*/hip/*.co "$temporary"/bin/*/O[03]/hip/*.co; do
    name=${object#"$temporary/bin/"}
    if ! cmp -s "$object" "../bin/$name"; then
        echo "kernels/hip/build.sh: bin/$name differs from what its source gives (or is absent)" >&2
        status=1
    fi
done
for object in ../bin/*/hip/*.co ../bin/*/O[03]/hip/*.co; do
    if [[ ! -e $temporary/bin/${object#../bin/} ]]; then
        echo "kernels/hip/build.sh: ${object#../} has no source" >&2
        status=1
    fi
done
[[ $status -ne 0 ]] || echo "kernels/hip/build.sh: all objects are as their sources give them"
exit $status
