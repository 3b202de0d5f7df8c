#!/usr/bin/env bash
# Installs NVRTC, NVIDIA's library that compiles CUDA kernels, from its Python wheel, for the
# tests that compile kernels and for machines that have a driver and no CUDA toolkit. It needs
# no GPU. Root's goes to /usr/local/lib/distaff/nvrtc, a user's to distaff/nvrtc in the user's
# cache; both are where it is looked for. Idempotent; where it cannot be installed, the script says so and
# leaves with 0.
set -u
version=12.4.127
if [ "$(id -u)" -eq 0 ]; then
    dir=/usr/local/lib/distaff/nvrtc
else
    dir=${XDG_CACHE_HOME:-$HOME/.cache}/distaff/nvrtc
fi
if [ -e "$dir/libnvrtc.so.12" ]; then
    echo "install-nvrtc: NVRTC is there, in $dir"
    exit 0
fi
for tool in python3 pip; do
    if ! "$tool" --version > /dev/null 2>&1; then
        echo "install-nvrtc: no $tool here; wanted: pip download nvidia-cuda-nvrtc-cu12"
        exit 0
    fi
done
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work"' EXIT
if ! pip download --quiet --disable-pip-version-check --no-deps --dest "$work" "nvidia-cuda-nvrtc-cu12==$version" > "$work/log" 2>&1 < /dev/null; then
    echo "install-nvrtc: could not download nvidia-cuda-nvrtc-cu12: $(grep -i error "$work/log" | head -1)"
    exit 0
fi
if ! python3 -m zipfile -e "$work"/*.whl "$work/wheel" > "$work/log" 2>&1 ||
    ! mkdir -p "$dir.new" || ! cp "$work"/wheel/nvidia/cuda_nvrtc/lib/*.so* "$dir.new/" || ! rm -rf "$dir" || ! mv "$dir.new" "$dir"; then
    echo "install-nvrtc: could not unpack the wheel to $dir: $(head -1 "$work/log")"
    exit 0
fi
echo "install-nvrtc: installed NVRTC $version in $dir"
