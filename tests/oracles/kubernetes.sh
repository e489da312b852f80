#!/usr/bin/env bash
# Builds a real control plane: `etcd` and `kube-apiserver`. Needs Go; two and nine minutes, 25 and 100 MB.
. "$(dirname "$0")/common.sh.inc"
etcd=v3.6.5
if ! have "etcd-$etcd"; then
    # The program's own module points at its neighbours on disk, so it is built from a line of our own.
    mkdir -p "$oracles/src/etcd-$etcd"
    cd "$oracles/src/etcd-$etcd"
    printf 'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n' >main.go
    printf 'module etcd\n\ngo 1.24.0\n\nrequire go.etcd.io/etcd/server/v3 %s\n' "$etcd" >go.mod
    # Some of what only tests need cannot be listed everywhere.
    go mod tidy -e >/dev/null 2>&1 || true
    build "etcd-$etcd" -ldflags "-s -w" .
fi
have "kube-apiserver-v1.34.2" || kubernetes kube-apiserver
