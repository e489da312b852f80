terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" { type = string }
variable "token" { type = string }
variable "image_url" { type = string }

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = var.token
  insecure  = true
}

resource "proxmox_virtual_environment_download_file" "image" {
  content_type = "import"
  datastore_id = "local"
  node_name    = "pve1"
  url          = var.image_url
  file_name    = "talos.qcow2"
}

resource "proxmox_virtual_environment_vm" "template" {
  name      = "talos"
  node_name = "pve1"
  template  = true
  started   = false
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = proxmox_virtual_environment_download_file.image.id
    size         = 10
  }
  network_device { bridge = "vmbr0" }
}

resource "proxmox_virtual_environment_vm" "node" {
  count           = 10
  name            = "node-${count.index + 1}"
  node_name       = "pve1"
  stop_on_destroy = true
  clone {
    vm_id = proxmox_virtual_environment_vm.template.vm_id
    full  = true
  }
  cpu {
    cores = 2
    type  = "host"
  }
  memory { dedicated = 2048 }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 20
  }
  network_device { bridge = "vmbr0" }
}
