#!/usr/bin/env bash
# Builds `oraclenode`: the server code of Talos itself (maintenance service, machined's API, apid's router) as one process on
# loopback, for two minor versions. Needs Go; three to five minutes and 84 MB each.
. "$(dirname "$0")/common.sh.inc"
for version in ${*:-v1.11.5 v1.12.1}; do
    # Built from a source of ours, so again when that changed.
    source=$(cat "$here"/oraclenode/* | sha256sum | cut -c1-16)
    [ "$(cat "$oracles/bin/oraclenode-$version.source" 2>/dev/null)" = "$source" ] || rm -f "$oracles/bin/oraclenode-$version"
    have "oraclenode-$version" && continue
    cd "$(talos "$version")"
    # go-debug stops at the Go it knew: lift its build constraint in a copy.
    debug=$(awk '$1=="github.com/siderolabs/go-debug"{print $2}' go.mod)
    if [ "$debug" != v0.6.2 ] && ! grep -q oracle-go-debug go.mod; then
        from=$(module "github.com/siderolabs/go-debug@$debug" .)
        mkdir -p hack/oracle-go-debug
        cp "$from"/*.go "$from"/go.mod hack/oracle-go-debug/
        chmod -R u+w hack/oracle-go-debug
        rm -f hack/oracle-go-debug/*_test.go
        sed -i 's/ && !go1.2[56]//' hack/oracle-go-debug/debug_on_124.go
        echo 'replace github.com/siderolabs/go-debug => ./hack/oracle-go-debug' >>go.mod
    fi
    printf 'package services\n\n// OracleRules are the authorization rules of machined.\nvar OracleRules = rules\n' >internal/app/machined/pkg/system/services/oracle_export.go
    cp "$here/oraclenode/trustd_export.go.txt" internal/app/trustd/oracle_export.go
    # An upgrade looks for containerd and for an etcd that Talos runs; neither is here, so both looks can be switched off.
    grep -q ORACLE_OFFLINE internal/pkg/install/pull.go || sed -i -e 's#^func PullAndValidateInstallerImage(.*{$#&\n\tif os.Getenv("ORACLE_OFFLINE") != "" {\n\t\treturn nil\n\t}\n#' -e '0,/^import (/s##import (\n\t"os"#' internal/pkg/install/pull.go
    grep -q ORACLE_OFFLINE internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go || sed -i 's#machinetype.TypeWorker \&\& !in.GetForce() {#machinetype.TypeWorker \&\& !in.GetForce() \&\& os.Getenv("ORACLE_OFFLINE") == "" {#' internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go
    mkdir -p internal/app/machined/oraclenode
    cp "$here/oraclenode/main.go.txt" internal/app/machined/oraclenode/main.go
    package=github.com/siderolabs/talos/pkg/machinery/version
    build "oraclenode-$version" -tags tcell_minimal,grpcnotrace -ldflags "-s -w -X $package.Tag=$version -X $package.Name=Talos" ./internal/app/machined/oraclenode
    echo "$source" >"$oracles/bin/oraclenode-$version.source"
done
