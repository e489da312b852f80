#!/usr/bin/env bash
# Builds the real `helm`, of the version that is in emhost's own component. Needs Go; four minutes, 60 MB.
. "$(dirname "$0")/common.sh.inc"
version=$(awk '$1 == "helm.sh/helm/v4" { print $2 }' "$here/../../helm/go.mod")
have "helm-$version" && exit
# Its main package says no version of its own.
cd "$(checkout "helm-$version" "helm.sh/helm/v4@$version")"
build "helm-$version" -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$version" ./cmd/helm
