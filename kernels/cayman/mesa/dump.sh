#!/bin/bash
# Makes the committed dumps of Mesa's compiler for Cayman: dumps/<name>.txt of each program beside this script. Mesa's own
# driver compiles them for a device that does nothing (device.c); no graphics card is needed.
#
#   kernels/cayman/mesa/dump.sh            make all of them in place
#   kernels/cayman/mesa/dump.sh NAME...    make those of some programs only
#   kernels/cayman/mesa/dump.sh --check    make them in a temporary folder and compare them with the committed ones
#   kernels/cayman/mesa/dump.sh --tools    only say what is missing; exit status 3 if something is
#
# Needs a C compiler, Mesa's driver and the headers of libdrm and EGL (Debian 12: apt-get install --no-install-recommends
# gcc libc6-dev libdrm-dev libegl-dev libgl-dev libegl1 libgl1 libgbm1 libgl1-mesa-dri). MESA names the version of the
# committed dumps; another one may compile otherwise, so --check then only sees whether all programs compile.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cc=${CC:-gcc}
libdrm=${LIBDRM:-/usr/include/libdrm}
usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

mode=build
only=()
case "${1-}" in
--check) mode=check ;;
--tools) mode=tools ;;
-h | --help) usage && exit 0 ;;
-*) usage >&2 && exit 2 ;;
*) only=("$@") ;;
esac

missing=()
command -v "$cc" >/dev/null || missing+=("$cc (package gcc)")
[[ -e $libdrm/radeon_drm.h ]] || missing+=("$libdrm/radeon_drm.h (package libdrm-dev)")
[[ -e /usr/include/EGL/egl.h ]] || missing+=("EGL/egl.h (package libegl-dev)")
[[ -e /usr/include/GL/glext.h ]] || missing+=("GL/glext.h (package libgl-dev)")
PATH=$PATH:/sbin:/usr/sbin
libraries=$(ldconfig -p)
library() { # name package
    [[ $libraries == *"$1 "* ]] || missing+=("$1 (package $2)")
}
library libgbm.so.1 libgbm1
library libEGL.so.1 libegl1
library libGL.so.1 libgl1
compgen -G '/usr/lib/*/dri/r600_dri.so' >/dev/null || missing+=("r600_dri.so (package libgl1-mesa-dri)")
if ((${#missing[@]})); then
    printf 'kernels/cayman/mesa/dump.sh: not found: %s\n' "${missing[@]}" >&2
    exit 3
fi
[[ $mode != tools ]] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cc" -shared -fPIC -O1 -Wall -Wextra -Werror -I"$libdrm" "$here/device.c" -o "$work/device.so" -ldl
"$cc" -O1 -Wall -Wextra -Werror "$here/compile.c" -o "$work/compile" -l:libEGL.so.1 -l:libGL.so.1 -l:libgbm.so.1

# What libdrm and Mesa read of a device.
device=$work/tree/sys/dev/char/226:128/device
mkdir -p "$work/tree/dev/dri" "$device/drm/renderD128" "$work/tree/bus/pci"
: >"$work/tree/dev/dri/renderD128"
ln -s "$work/tree/bus/pci" "$device/subsystem"
cat >"$device/uevent" <<'END'
DRIVER=radeon
PCI_CLASS=30000
PCI_ID=1002:6718
PCI_SUBSYS_ID=1002:0B00
PCI_SLOT_NAME=0000:01:00.0
END
for pair in vendor=0x1002 device=0x6718 subsystem_vendor=0x1002 subsystem_device=0x0b00 revision=0x00; do
    echo "${pair#*=}" >"$device/${pair%%=*}"
done
printf '\x02\x10\x18\x67' >"$device/config"
head -c 60 /dev/zero >>"$device/config"

# Prints what the driver prints of a program's machine code, without its intermediate forms. The first shader that the
# driver compiles for a program is that of its compute or vertex stage, the last one the pixel shader for the targets that
# are there. Between them are shaders for targets that are not, and some of the driver's own.
dump() { # compute or draw, file...
    local output=$work/output status=0
    : >"$work/tree/dev/dri/renderD128"
    TREE=$work/tree LD_PRELOAD=$work/device.so R600_DEBUG=cs,vs,ps MESA_SHADER_CACHE_DISABLE=true \
        timeout -k 5 60 "$work/compile" "${@:2}" >"$output" 2>&1 || status=$?
    if ((status)); then
        echo "kernels/cayman/mesa/dump.sh: ${*:2}: exit status $status" >&2
        grep -a '^compile:' "$output" | tail -n 3 >&2
        return 1
    fi
    awk -v kind="$1" '
        /^compile: program/ { ours = 1; count = 0 }
        /^compile: end/ { ours = 0 }
        /^shader: MESA_SHADER_/ { stage = $0 }
        ours && /^bytecode / { text = stage "\n"; inside = 1 }
        inside { text = text $0 "\n" }
        inside && /^-----/ { inside = 0; if (!count++) first = text; last = text }
        END { printf "%s", first; if (kind == "draw") printf "%s", last }' "$output"
}

cd "$here"
names=("${only[@]}")
if ((${#names[@]} == 0)); then
    names=(*.comp *.frag)
    names=("${names[@]%.*}")
fi
out=$work/dumps
mkdir -p "$out"
for name in "${names[@]}"; do
    if [[ -e $name.comp ]]; then
        dump compute "$name.comp" >"$out/$name.txt"
    else
        dump draw plain.vert "$name.frag" >"$out/$name.txt"
    fi
done

mesa=$(dpkg-query -W -f='${Package} ${Version}\n' libgl1-mesa-dri 2>/dev/null || echo 'a Mesa that is no package')
if [[ $mode == build ]]; then
    mkdir -p dumps
    cp "$out"/*.txt dumps/
    ((${#only[@]})) || echo "$mesa" >MESA
    exit 0
fi
# Packages of one upstream version compile alike.
upstream() { sed 's/-[^-]*$//'; }
if [[ $(upstream <MESA) != "$(echo "$mesa" | upstream)" ]]; then
    echo "kernels/cayman/mesa/dump.sh: dumps not compared: they were made by $(cat MESA), and here is $mesa"
    exit 0
fi
if ! diff -r "$out" dumps >&2; then
    echo "kernels/cayman/mesa/dump.sh: dumps differ from what the programs give" >&2
    exit 1
fi
echo "kernels/cayman/mesa/dump.sh: all dumps are as the programs give them"
