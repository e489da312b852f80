#!/usr/bin/env bash
# Builds bpg's Proxmox provider for Terraform, and OpenTofu where no terraform is installed. Needs Go; two to four minutes, and seven for OpenTofu.
. "$(dirname "$0")/common.sh.inc"
version=v0.80.0
if ! have "tf-$version/terraform-provider-proxmox"; then
    cd "$(checkout "tf-proxmox-$version" "github.com/bpg/terraform-provider-proxmox@$version")"
    build "tf-$version/terraform-provider-proxmox" -ldflags "-s -w" .
fi
if ! command -v terraform >/dev/null && ! have tofu-v1.9.1; then
    cd "$(checkout tofu-v1.9.1 github.com/opentofu/opentofu@v1.9.1)"
    build tofu-v1.9.1 -ldflags "-s -w" ./cmd/tofu
fi
