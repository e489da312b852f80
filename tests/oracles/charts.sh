#!/usr/bin/env bash
# Fetches charts that people use, out of Go modules of exact versions. Needs Go; a minute, 10 MB.
. "$(dirname "$0")/common.sh.inc"
command -v go >/dev/null || { echo "charts.sh: Go is needed to fetch charts: https://go.dev/dl" >&2; exit 1; }
while read -r name module folder; do
    to=$oracles/charts/$name
    if [ ! -d "$to" ]; then
        mkdir -p "$oracles/charts"
        rm -rf "$to.new"
        cp -r "$(module "$module")/$folder" "$to.new"
        chmod -R u+w "$to.new"
        # Renamed into place, so that what is there is whole.
        mv "$to.new" "$to"
    fi
    echo "$to"
done <<'LIST'
cilium-1.18 github.com/cilium/cilium@v1.18.4 install/kubernetes/cilium
cilium-1.15 github.com/cilium/cilium@v1.15.19 install/kubernetes/cilium
metrics-server sigs.k8s.io/metrics-server@v0.7.2 charts/metrics-server
nvidia-device-plugin github.com/NVIDIA/k8s-device-plugin@v0.18.0 deployments/helm/nvidia-device-plugin
node-feature-discovery sigs.k8s.io/node-feature-discovery@v0.18.3 deployment/helm/node-feature-discovery
external-dns sigs.k8s.io/external-dns@v0.19.0 charts/external-dns
kueue sigs.k8s.io/kueue@v0.10.1 charts/kueue
flagger github.com/fluxcd/flagger@v1.41.0 charts/flagger
LIST
