#!/usr/bin/env bash
# Builds the real `sops`, which the tests of the secrets file run against. Needs Go; two minutes, 47 MB.
# usage: sops.sh    prints where it is
set -euo pipefail
VERSION=v3.11.0
oracles=${EMHOST_ORACLES:-${XDG_CACHE_HOME:-$HOME/.cache}/emhost-oracles}
program=$oracles/bin/sops-$VERSION
if [ ! -x "$program" ]; then
    command -v go >/dev/null || { echo "sops.sh: Go is needed to build sops $VERSION: https://go.dev/dl" >&2; exit 1; }
    mkdir -p "$oracles/bin"
    built=$(mktemp -d "$oracles/bin/.sops.XXXXXX")
    trap 'rm -rf "$built"' EXIT
    CGO_ENABLED=0 GOBIN=$built go install -trimpath -ldflags "-s -w" "github.com/getsops/sops/v3/cmd/sops@$VERSION"
    # Renamed into place, so that what is there is whole.
    mv "$built/sops" "$program"
fi
echo "$program"
