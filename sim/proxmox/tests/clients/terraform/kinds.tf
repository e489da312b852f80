terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" { type = string }
variable "token" { type = string }
variable "image_url" { type = string }
variable "memory" { type = number }
variable "disk" { type = number }

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

resource "proxmox_virtual_environment_vm" "worker" {
  name            = "worker-1"
  node_name       = "pve1"
  tags            = ["emhost", "talos"]
  stop_on_destroy = true
  clone {
    vm_id = proxmox_virtual_environment_vm.template.vm_id
    full  = false
  }
  agent { enabled = true }
  cpu {
    cores = 4
    type  = "host"
  }
  memory { dedicated = var.memory }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = var.disk
  }
  network_device { bridge = "vmbr0" }
}

resource "proxmox_virtual_environment_hardware_mapping_pci" "gpu" {
  name = "gpu0"
  map = [{
    id           = "10de:2204"
    iommu_group  = 14
    node         = "pve1"
    path         = "0000:01:00.0"
  }]
}

resource "proxmox_virtual_environment_vm" "control_plane" {
  name            = "cp-1"
  node_name       = "pve1"
  machine         = "q35"
  bios            = "ovmf"
  scsi_hardware   = "virtio-scsi-single"
  stop_on_destroy = true
  agent { enabled = true }
  cpu {
    cores = 2
    type  = "host"
  }
  memory { dedicated = var.memory }
  efi_disk {
    datastore_id      = "local-lvm"
    type              = "4m"
    pre_enrolled_keys = false
  }
  tpm_state {
    datastore_id = "local-lvm"
    version      = "v2.0"
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = proxmox_virtual_environment_download_file.image.id
    size         = var.disk
    iothread     = true
    discard      = "on"
  }
  disk {
    interface    = "scsi1"
    datastore_id = "local-lvm"
    size         = 50
  }
  cdrom {
    interface = "ide3"
    file_id   = "none"
  }
  hostpci {
    device  = "hostpci0"
    mapping = proxmox_virtual_environment_hardware_mapping_pci.gpu.name
    pcie    = true
    rombar  = true
  }
  serial_device { device = "socket" }
  smbios { serial = "abc" }
  network_device {
    bridge  = "vmbr0"
    vlan_id = 5
  }
  operating_system { type = "l26" }
}
