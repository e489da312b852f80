#!/usr/bin/env bash
# Builds the real `kubectl`. Needs Go; four minutes, 60 MB.
. "$(dirname "$0")/common.sh.inc"
version=v1.34.2
have "kubectl-$version" && exit
cd "$(checkout "kubernetes-$version" "k8s.io/kubernetes@$version")"
# The staging modules are not in the published module: point at their own releases.
sed -i -E "s#^(\s*k8s\.io/[a-z-]+) => \./staging/.*#\1 => \1 v0.${version#v1.}#" go.mod
rm -rf vendor go.work go.work.sum
package=k8s.io/component-base/version
build "kubectl-$version" -ldflags "-s -w -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=34 -X $package.gitTreeState=clean" ./cmd/kubectl
