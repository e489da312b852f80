#!/usr/bin/env bash
# Builds the real `kubectl`. Needs Go; four minutes, 60 MB.
. "$(dirname "$0")/common.sh.inc"
have "kubectl-v1.34.2" || kubernetes kubectl
