#!/usr/bin/env bash
# Installs the Python client `proxmoxer` into a virtual environment of its own. Needs Python 3 with venv; under a minute.
set -euo pipefail
oracles=${EMHOST_ORACLES:-${XDG_CACHE_HOME:-$HOME/.cache}/emhost-oracles}
venv=$oracles/proxmoxer-2.3.0
if [ ! -f "$venv/whole" ]; then
    rm -rf "$venv"
    mkdir -p "$oracles"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check proxmoxer==2.3.0 requests==2.32.5 requests-toolbelt==1.0.0
    touch "$venv/whole"
fi
echo "$venv/bin/python"
