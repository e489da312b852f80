"""Drives a simulated Proxmox with proxmoxer, as an operator's script would.

usage: proxmoxer.py URL TOKEN PASSWORD     (a token is USER@REALM!NAME=SECRET)
"""

import hashlib
import http.server
import io
import struct
import sys
import threading
import time
from urllib.parse import urlsplit

# This file has the name of the library, and its folder comes first.
sys.path.pop(0)

import urllib3
from proxmoxer import ProxmoxAPI, ResourceException

urllib3.disable_warnings()


def check(what, good, seen=None):
    if not good:
        raise SystemExit(f"FAILED: {what}: {seen!r}")
    print(f"ok: {what}")


def refused(what, call, status, text):
    try:
        answer = call()
    except ResourceException as error:
        whole = f"{error.status_message} {error.content} {error.errors}"
        check(what, error.status_code == status and text in whole, (error.status_code, whole))
    else:
        raise SystemExit(f"FAILED: {what}: not refused but {answer!r}")


def connect(url, password=None, token=None):
    parts = urlsplit(url)
    common = {"port": parts.port, "verify_ssl": False, "timeout": 30}
    if password:
        return ProxmoxAPI(parts.hostname, user="root@pam", password=password, **common)
    user, _, rest = token.partition("!")
    name, _, secret = rest.partition("=")
    return ProxmoxAPI(parts.hostname, user=user, token_name=name, token_value=secret, **common)


def wait(node, upid):
    check(f"{upid.split(':')[5]} has a task id", upid.startswith("UPID:pve1:"), upid)
    for _ in range(600):
        status = node.tasks(upid).status.get()
        if status["status"] == "stopped":
            return status["exitstatus"]
        time.sleep(0.05)
    raise SystemExit(f"FAILED: {upid} does not end")


def finished(node, upid):
    status = wait(node, upid)
    log = [line["t"] for line in node.tasks(upid).log.get(limit=0)]
    check(f"{upid.split(':')[5]} ended well", status == "OK" and log[-1] == "TASK OK", (status, log))


def qcow2(gib):
    header = struct.pack(">4sIQIIQ", b"QFI\xfb", 3, 0, 0, 16, gib << 30)
    return header + bytes(65536 - len(header))


class Files(http.server.BaseHTTPRequestHandler):
    """A web server with one image."""

    body = qcow2(10)

    def do_HEAD(self):
        self.do_GET(False)

    def do_GET(self, body=True):
        found = self.path == "/talos.qcow2"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(self.body) if found else 0))
        self.end_headers()
        if body and found:
            self.wfile.write(self.body)

    def log_message(self, *_):
        pass


def images(node, base):
    storage = node.storage("local")
    iso = b"\0" * 40000
    name = f"boot-{time.time_ns()}.iso"
    file = io.BytesIO(iso)
    file.name = name
    digest = hashlib.sha256(iso).hexdigest()
    # pveproxy reads these fields in this order only.
    upid = storage.upload.post(content="iso", **{"checksum-algorithm": "sha256"}, checksum=digest, filename=file)
    finished(node, upid)
    listed = {item["volid"]: item for item in storage.content.get(content="iso")}
    check("the uploaded file is listed", listed.get(f"local:iso/{name}", {}).get("size") == 40448, listed)
    file = io.BytesIO(iso)
    file.name = name
    upid = storage.upload.post(content="iso", **{"checksum-algorithm": "sha256"}, checksum="00" * 32, filename=file)
    check("a wrong checksum is refused", wait(node, upid).startswith("checksum mismatch: got"))
    meta = node("query-url-metadata").get(url=f"{base}/talos.qcow2")
    check("metadata of a URL", meta["size"] == len(Files.body) and meta["filename"] == "talos.qcow2", meta)
    image = f"talos-{time.time_ns()}.qcow2"
    finished(node, storage("download-url").post(content="import", filename=image, url=f"{base}/talos.qcow2"))
    upid = storage("download-url").post(content="import", filename=image, url=f"{base}/talos.qcow2")
    check("an existing file is not replaced", wait(node, upid).startswith("refusing to override existing file"))
    upid = storage("download-url").post(content="import", filename="gone.qcow2", url=f"{base}/gone.qcow2")
    check("a missing file", "ERROR 404: Not Found" in wait(node, upid))
    upid = storage("download-url").post(content="import", filename="gone.qcow2", url="https://nowhere.example/x.qcow2")
    check("an unknown host", wait(node, upid) == "download failed: wget: unable to resolve host address 'nowhere.example'")
    return name, image


def machines(api, node, image, iso):
    template = int(api.cluster.nextid.get())
    upid = node.qemu.post(
        vmid=template, name="talos-template", memory=2048, cores=2, cpu="host", agent="1", net0="virtio,bridge=vmbr0",
        scsihw="virtio-scsi-single", scsi0=f"local-lvm:0,import-from=local:import/{image}", ide2=f"local:iso/{iso},media=cdrom",
        bios="ovmf", machine="q35", efidisk0="local-lvm:1,efitype=4m,pre-enrolled-keys=0", tags="Talos;emhost",
    )
    finished(node, upid)
    config = node.qemu(template).config.get()
    check("the imported disk", config["scsi0"] == f"local-lvm:vm-{template}-disk-1,size=10G", config)
    check("the firmware's disk", config["efidisk0"] == f"local-lvm:vm-{template}-disk-0,efitype=4m,pre-enrolled-keys=0,size=4M", config)
    check("defaults", config["boot"] == "order=scsi0;ide2;net0" and config["tags"] == "emhost;talos" and len(config["digest"]) == 40, config)
    check("types", config["cores"] == 2 and config["memory"] == "2048", config)
    finished(node, node.qemu(template).template.post())
    config = node.qemu(template).config.get()
    check("base volumes", config["scsi0"].startswith(f"local-lvm:base-{template}-disk-1") and config["template"] == 1, config)
    upid = node.qemu(template).status.start.post()
    check("a template does not start", wait(node, upid) == "you can't start a vm if it's a template")

    clone = int(api.cluster.nextid.get())
    finished(node, node.qemu(template).clone.post(newid=clone, name="worker-1", full=0))
    config = node.qemu(clone).config.get()
    check("the linked clone", config["scsi0"] == f"local-lvm:vm-{clone}-disk-1,size=10G" and config["name"] == "worker-1", config)
    check("no template", "template" not in config, config)
    node.qemu(clone).config.put(memory=4096, cores=4, digest=config["digest"])
    config = node.qemu(clone).config.get()
    check("the changed configuration", config["memory"] == "4096" and config["cores"] == 4, config)
    finished(node, node.qemu(clone).config.post(description="worker"))
    finished(node, node.qemu(clone).resize.put(disk="scsi0", size="+10G"))
    check("the grown disk", node.qemu(clone).config.get()["scsi0"].endswith("size=20G"))
    upid = node.qemu(clone).resize.put(disk="scsi0", size="5G")
    check("no shrinking", wait(node, upid) == "shrinking disks is not supported")
    finished(node, node.qemu(clone).status.start.post())
    current = node.qemu(clone).status.current.get()
    check("it runs", current["status"] == "running" and current["qmpstatus"] == "running", current)
    upid = node.qemu(clone).status.start.post()
    check("started once", wait(node, upid) == f"VM {clone} already running")
    addresses = node.qemu(clone).agent("network-get-interfaces").get()["result"]
    check("the agent", addresses[0]["ip-addresses"][0]["ip-address"].startswith("10.0."), addresses)
    node.qemu(clone).config.put(cores=8)
    pending = {item["key"]: item for item in node.qemu(clone).pending.get()}
    check("more cores wait", pending["cores"].get("pending") == 8 and pending["cores"]["value"] == 4, pending["cores"])
    finished(node, node.qemu(clone).status.reboot.post())
    check("until it is started again", node.qemu(clone).config.get(current=1)["cores"] == 8)
    refused("a running machine stays", node.qemu(clone).delete, 500, f"VM {clone} is running - destroy failed")
    upid = node.qemu(template).delete()
    check("a base in use stays", "still in use by linked cloned" in wait(node, upid))

    full = int(api.cluster.nextid.get())
    finished(node, node.qemu(template).clone.post(newid=full, name="full-1", full=1, storage="local", format="qcow2"))
    check("the full clone", node.qemu(full).config.get()["scsi0"] == f"local:{full}/vm-{full}-disk-1.qcow2,size=10G")
    finished(node, node.qemu(full).move_disk.post(disk="scsi0", storage="local-lvm"))
    config = node.qemu(full).config.get()
    check("the moved disk leaves the old one", config["unused0"] == f"local:{full}/vm-{full}-disk-1.qcow2", config)
    finished(node, node.qemu(full).snapshot.post(snapname="before"))
    check("snapshots", [item["name"] for item in node.qemu(full).snapshot.get()] == ["before", "current"])
    finished(node, node.qemu(full).snapshot("before").delete())
    return template, clone, full


def refusals(url, api, node, token):
    refused("an unknown machine", node.qemu(99999).config.get, 500, "does not exist")
    refused("a wrong parameter", lambda: node.qemu.post(vmid=5), 400, "does not look like a valid VM ID")
    refused("an unknown parameter", lambda: node.qemu.post(vmid=5000, colour="red"), 400, "not defined in schema")
    refused("an unknown path", api("colours").get, 501, "not implemented")
    wrong = connect(url, token=token.rpartition("=")[0] + "=00000000-0000-0000-0000-00000000dead")
    refused("a wrong secret", wrong.version.get, 401, "")
    user = f"reader{time.time_ns()}@pve"
    api.access.users.post(userid=user)
    made = api.access.users(user).token("ro").post(privsep=0)
    api.access.acl.put(path="/vms", roles="PVEAuditor", users=user)
    reader = connect(url, token=f"{user}!ro={made['value']}")
    check("a reader reads", isinstance(reader.nodes("pve1").qemu.get(), list))
    refused("a missing privilege", lambda: reader.nodes("pve1").qemu.post(vmid=6000), 403, "Permission check failed")


def run(url, api, token):
    version = api.version.get()
    check("version", version["release"][0] in "89", version)
    check("nodes", [item["node"] for item in api.nodes.get()] == ["pve1"])
    node = api.nodes("pve1")
    names = {item["storage"]: item for item in node.storage.get()}
    check("storages", names["local-lvm"]["active"] == 1 and names["local"]["avail"] > 0, names)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    iso, image = images(node, f"http://127.0.0.1:{server.server_port}")
    template, clone, full = machines(api, node, image, iso)
    refusals(url, api, node, token)
    finished(node, node.qemu(clone).status.stop.post())
    for vmid in (clone, full, template):
        finished(node, node.qemu(vmid).delete(purge=1, **{"destroy-unreferenced-disks": 1}))
    for volume in (f"local:iso/{iso}", f"local:import/{image}"):
        finished(node, node.storage("local").content(volume).delete())
    left = [item["volid"] for name in ("local", "local-lvm") for item in node.storage(name).content.get()]
    check("nothing is left", not left and not node.qemu.get(), left)
    server.shutdown()


def main():
    url, token, password = sys.argv[1:4]
    print("== with a token")
    run(url, connect(url, token=token), token)
    print("== with a password")
    run(url, connect(url, password=password), token)
    print("all good")


main()
