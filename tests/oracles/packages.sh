#!/usr/bin/env bash
# Installs the programs of the system that tests look through: xorriso and isoinfo for volumes, qemu-img and sfdisk for images, skopeo and docker-registry for
# registries, gpg for keys. Debian's packages; as root, or it says what to install.
set -euo pipefail
declare -A packages=([xorriso]=xorriso [isoinfo]=genisoimage [qemu-img]=qemu-utils [skopeo]=skopeo [gpg]=gnupg [openssl]=openssl [sfdisk]=fdisk [docker-registry]=docker-registry)
missing=()
for program in "${!packages[@]}"; do
    command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
[ ${#missing[@]} -gt 0 ] || { echo "all there: ${!packages[*]}"; exit 0; }
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "packages.sh: install ${missing[*]} (as root: apt-get install ${missing[*]})" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
echo "installed: ${missing[*]}"
