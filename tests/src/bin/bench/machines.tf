# The machines that emhost makes of the same inventory.
terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" { type = string }
variable "token" { type = string }
variable "image_url" { type = string }
variable "machines" { type = number }

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
  file_name    = "terraform.qcow2"
}

resource "proxmox_virtual_environment_vm" "machine" {
  count           = var.machines
  name            = "m-${count.index + 1}"
  vm_id           = 300 + count.index
  node_name       = "pve1"
  machine         = "q35"
  bios            = "ovmf"
  scsi_hardware   = "virtio-scsi-pci"
  on_boot         = true
  stop_on_destroy = true
  tags            = ["emhost"]
  boot_order      = ["scsi0"]
  cpu {
    cores = 2
    type  = "host"
  }
  memory { dedicated = 4096 }
  efi_disk {
    datastore_id      = "local-lvm"
    type              = "4m"
    pre_enrolled_keys = false
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = proxmox_virtual_environment_download_file.image.id
    size         = 40
    discard      = "on"
    ssd          = true
  }
  initialization {
    datastore_id = "local-lvm"
    interface    = "ide0"
    ip_config {
      ipv4 {
        address = "10.0.10.${count.index + 1}/16"
        gateway = "10.0.0.1"
      }
    }
  }
  serial_device { device = "socket" }
  network_device {
    bridge      = "vmbr0"
    mac_address = format("02:00:00:00:00:%02X", count.index + 1)
  }
  operating_system { type = "l26" }
}
