#!/usr/bin/env bash
# Builds the real `talosctl` of two minor versions. Needs Go; seven minutes and 97 MB each.
. "$(dirname "$0")/common.sh.inc"
for version in ${*:-v1.11.5 v1.12.1}; do
    have "talosctl-$version" && continue
    cd "$(talos "$version")"
    package=github.com/siderolabs/talos/pkg/machinery/version
    build "talosctl-$version" -ldflags "-s -w -X $package.Tag=$version -X $package.Name=Talos" ./cmd/talosctl
done
