//! The machines, volumes and mappings that the recorded answers speak of.

use std::path::Path;

use emhost_sim_kit::Store;
use serde_json::json;

const GIB: u64 = 1 << 30;

/// Puts them where an installation finds them when it is opened.
pub fn write(folder: &Path) {
    let store = Store::open(&folder.join("store")).unwrap();
    for (volume, content, format, size, owner) in [
        ("local:100/vm-100-disk-0.qcow2", "images", "qcow2", GIB, Some(100)),
        ("local:100/vm-100-disk-1.raw", "images", "raw", 10 * GIB, Some(100)),
        ("local:100/vm-100-disk-2.qcow2", "images", "qcow2", 5 * GIB, Some(100)),
        ("local:100/vm-100-disk-3.raw", "images", "raw", 528 << 10, Some(100)),
        ("local-lvm:vm-100-disk-7", "images", "raw", 8 * GIB, Some(100)),
        ("local:101/vm-101-disk-0.qcow2", "images", "qcow2", GIB, Some(101)),
        ("local:9000/base-9000-disk-0.qcow2", "images", "qcow2", GIB, Some(9000)),
        ("local:9001/base-9001-disk-0.qcow2", "images", "qcow2", GIB, Some(9001)),
        ("local:9002/base-9002-disk-0.qcow2", "images", "qcow2", GIB, Some(9002)),
        ("local:iso/talos.iso", "iso", "iso", 366 << 10, None),
        ("local:iso/talos.img", "iso", "iso", 366 << 10, None),
        ("isos:iso/a.iso", "iso", "iso", 366 << 10, None),
        ("local:import/x.qcow2", "import", "qcow2", 5 * GIB, None),
        ("local:snippets/u.yaml", "snippets", "snippet", 100, None),
        ("local:snippets/hook.pl", "snippets", "snippet", 100, None),
    ] {
        let mut document = json!({ "content": content, "format": format, "size": size, "used": size });
        if let Some(owner) = owner {
            document["owner"] = json!(owner);
        }
        store.put(&format!("pve/volume/pve1/{volume}"), &document).unwrap();
    }
    let net = "virtio=BC:24:11:00:00:01,bridge=vmbr0";
    for (id, disk, more) in [
        (100, "vm-100-disk-0", json!({ "net0": net, "name": "fixture" })),
        (9000, "base-9000-disk-0", json!({ "net0": net, "template": "1" })),
        (9001, "base-9001-disk-0", json!({ "hostpci0": "0000:01:00.0", "template": "1" })),
        (9002, "base-9002-disk-0", json!({ "net0": format!("{net},tag=50"), "hostpci0": "mapping=gpu0", "template": "1" })),
    ] {
        let mut config = json!({
            "bios": "ovmf", "boot": "order=scsi0", "cores": "2", "memory": "2048", "ostype": "l26",
            "scsi0": format!("local:{id}/{disk}.qcow2,size=1G"), "scsihw": "virtio-scsi-single",
            "smbios1": "uuid=6cf5fbcb-d0a2-4e01-a2ad-b4f5c5d5c2a1", "vmgenid": "f8b8b1b0-0e54-4ef4-9c3c-2d2c5c6a7b10",
        });
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        store.put(&format!("pve/vm/{id}"), &json!({ "id": id, "host": "pve1", "config": config })).unwrap();
    }
    let device = |path: &str| json!({ "map": [format!("node=pve1,path={path},id=10de:2204")], "details": {} });
    let settings = json!({
        "pci": { "gpu0": device("0000:01:00.0"), "gpu1": device("0000:02:00.0") },
        "usb": { "usbkey": { "map": ["node=pve1,id=1234:5678"], "details": {} } },
        "dir": { "share1": { "map": ["node=pve1,path=/mnt/share1"], "details": {} } },
    });
    store.put("pve/settings", &settings).unwrap();
}
