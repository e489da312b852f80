#!/usr/bin/env bash
# Builds `talos-oracle`: generator, validator and patcher of Talos itself in a small program. Needs Go; half a minute to two minutes and 23 MB each.
. "$(dirname "$0")/common.sh.inc"
# One of each minor version: a configuration is judged by the Talos it is for.
for version in ${*:-v1.11.5 v1.12.1 v1.8.2 v1.9.5 v1.10.6 v1.13.0}; do
    have "talos-oracle-$version" && continue
    work=$oracles/src/talos-oracle-$version
    rm -rf "$work"
    mkdir -p "$work"
    cp "$here/talos-oracle/main.go.txt" "$work/main.go"
    cd "$work"
    needs=$(sed -n 's/^go //p' "$(cd / && go mod download -json "github.com/siderolabs/talos/pkg/machinery@$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')")
    printf 'module talos-oracle\ngo %s\nrequire github.com/siderolabs/talos/pkg/machinery %s\n' "$needs" "$version" >go.mod
    case $version in
    v1.1[01].* | v1.[0-9].*)
        sed -i 's#"go.yaml.in/yaml/v4"#"gopkg.in/yaml.v3"#' main.go
        echo 'replace gopkg.in/yaml.v3 => github.com/unix4ever/yaml v0.0.0-20220527175918-f17b0f05cf2c' >>go.mod
        ;;
    esac
    go mod tidy
    build "talos-oracle-$version" -ldflags "-s -w" .
done
