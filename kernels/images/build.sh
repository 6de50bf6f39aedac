#!/bin/bash
# Builds the committed code objects of the kernels with images: ../bin/<target>/images/<name>.co, for the targets that have
# image instructions.
#
#   kernels/images/build.sh            rebuild all of them in place
#   kernels/images/build.sh --check    rebuild into a temporary folder and compare byte for byte with the committed ones
#   kernels/images/build.sh --tools    only say what is missing
#
# Needs clang-22, lld-22, llvm-22 (llvm-objcopy) and ROCm's device libraries as bitcode (Debian: rocm-device-libs).
# CLANG, OBJCOPY and DEVLIBS override what is used. The exit status is 3 if something of it is missing. COMPILER names the
# compiler and the libraries of the committed objects; others may make other bytes, so --check then only sees whether all
# sources compile.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clang=${CLANG:-clang-22}
objcopy=${OBJCOPY:-llvm-objcopy-22}
devlibs=${DEVLIBS:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
targets=(gfx906 gfx90a)
libraries=(opencl ocml ockl)

cd "$here"
missing=()
command -v "$clang" >/dev/null || missing+=("$clang (package clang-22)")
command -v "$objcopy" >/dev/null || missing+=("$objcopy (package llvm-22)")
for library in "${libraries[@]}"; do
    [[ -e $devlibs/$library.bc ]] || missing+=("$devlibs/$library.bc (package rocm-device-libs)")
done
if ((${#missing[@]})); then
    printf 'kernels/images/build.sh: not found: %s\n' "${missing[@]}" >&2
    exit 3
fi

[[ ${1-} != --tools ]] || exit 0

tools=$("$clang" --version | head -n 1)
for library in "${libraries[@]}"; do
    tools+=$'\n'"$library.bc $(sha256sum <"$devlibs/$library.bc" | cut -d ' ' -f 1)"
done

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
out=$here/../bin
[[ ${1-} != --check ]] || out=$temporary/bin

compile() { # target source
    local object=$out/$1/images/$2.co link=()
    for library in "${libraries[@]}" "oclc_isa_version_${1#gfx}" oclc_abi_version_500 oclc_wavefrontsize64_on \
        oclc_finite_only_off oclc_unsafe_math_off oclc_daz_opt_off oclc_correctly_rounded_sqrt_on; do
        link+=(-Xclang -mlink-builtin-bitcode -Xclang "$devlibs/$library.bc")
    done
    mkdir -p "$(dirname "$object")"
    # ROCm's runtime enables the functions of depth images in the same way.
    "$clang" -x cl -cl-std=CL2.0 -O2 -Wall -Werror -Wno-linker-warnings -cl-kernel-arg-info -fno-ident \
        -Xclang -cl-ext=+cl_khr_depth_images,+cl_khr_gl_msaa_sharing -target amdgcn-amd-amdhsa -mcpu="$1" -nogpulib \
        -mcode-object-version=5 "${link[@]}" -mllvm -amdgpu-internalize-symbols "$2.cl" -o "$object"
    "$objcopy" --strip-all "$object"
    chmod 644 "$object"
}

for target in "${targets[@]}"; do
    for source in *.cl; do
        # gfx90a has no instructions that sample at a level of detail.
        [[ $target = gfx90a && $source = mips.cl ]] || compile "$target" "${source%.cl}"
    done
done

if [[ ${1-} != --check ]]; then
    echo "$tools" >COMPILER
    exit 0
fi
if [[ $(cat COMPILER) != "$tools" ]]; then
    echo "kernels/images/build.sh: objects not compared: they were made by another compiler or library"
    exit 0
fi
status=0
for object in "$temporary"/bin/*/images/*.co; do
    name=${object#"$temporary/bin/"}
    if ! cmp -s "$object" "../bin/$name"; then
        echo "kernels/images/build.sh: bin/$name differs from what its source gives (or is absent)" >&2
        status=1
    fi
done
for object in ../bin/*/images/*.co; do
    if [[ ! -e $temporary/bin/${object#../bin/} ]]; then
        echo "kernels/images/build.sh: ${object#../} has no source" >&2
        status=1
    fi
done
[[ $status -ne 0 ]] || echo "kernels/images/build.sh: all objects are as their sources give them"
exit $status
