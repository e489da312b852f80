//! The few files of a node that anybody reads.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::SystemTime;

use emhost_talos_api::machine;
use emhost_talos_api::methods::machine as calls;

use super::calls::{data, many, read, unary};
use super::{Node, disks, resources};
use crate::seam::{Reply, RequestStream};
use crate::wire::Status;

/// The bit of Go's file modes that marks a directory.
const DIRECTORY: u32 = 1 << 31;

/// What there is below the root: files by path, and directories that are empty.
struct Tree {
    files: BTreeMap<String, String>,
    directories: BTreeSet<String>,
}

impl Tree {
    fn new(files: BTreeMap<String, String>, empty: &[&str]) -> Self {
        let mut directories = BTreeSet::from(["/".to_owned()]);
        let within = files.keys().filter_map(|path| path.rsplit_once('/').map(|(parent, _)| parent));
        for path in within.chain(empty.iter().copied()) {
            let mut path = path;
            while !path.is_empty() {
                directories.insert(path.to_owned());
                path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            }
        }
        Self { files, directories }
    }

    fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.directories.contains(path)
    }

    /// Everything below a path, itself first: path, depth below it, size, whether a directory.
    fn walk(&self, root: &str) -> Vec<(String, usize, usize, bool)> {
        let prefix = if root == "/" { "/".to_owned() } else { format!("{root}/") };
        let within = |path: &&String| *path == root || path.starts_with(&prefix);
        let depth = |path: &str| if path == root { 0 } else { path[prefix.len()..].matches('/').count() + 1 };
        let directories = self.directories.iter().filter(within).map(|path| (path.clone(), depth(path), 4096, true));
        let files = self.files.iter().filter(|(path, _)| within(path)).map(|(path, text)| (path.clone(), depth(path), text.len(), false));
        let mut all: Vec<_> = directories.chain(files).collect();
        all.sort();
        all
    }
}

/// A path as the API takes it: absolute, without a slash at its end.
fn clean(path: &str) -> String {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let path = path.trim_end_matches('/');
    if path.is_empty() { "/".to_owned() } else { path.to_owned() }
}

impl Node {
    fn tree(&self) -> Tree {
        let image = &self.boot.image;
        let (hostname, etcd, settings) = {
            let state = self.state();
            (state.hostname.clone(), state.etcd.is_some(), state.settings.clone())
        };
        let version = &image.version;
        let memory = self.boot.machine.memory_mib * 1024;
        let mut files: BTreeMap<String, String> = [
            ("/proc/sys/kernel/random/boot_id", format!("{}\n", self.boot_id)),
            ("/proc/cmdline", format!("{}\n", resources::cmdline(image))),
            ("/proc/version", format!("Linux version {} (@buildkitsandbox)\n", resources::kernel(self.version.minor))),
            ("/proc/meminfo", format!("MemTotal:       {} kB\n", memory - memory / 100)),
            ("/etc/hostname", format!("{hostname}\n")),
            ("/etc/hosts", format!("127.0.0.1 localhost\n{} {hostname}\n", self.addresses().first().map(ToString::to_string).unwrap_or_default())),
            ("/etc/resolv.conf", "nameserver 127.0.0.53\n".to_owned()),
            (
                "/etc/os-release",
                format!("NAME=\"Talos\"\nID=talos\nVERSION_ID={version}\nPRETTY_NAME=\"Talos ({version})\"\nHOME_URL=\"https://www.talos.dev/\"\n"),
            ),
            ("/etc/machine-id", format!("{}\n", self.machine_id())),
        ]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), text))
        .collect();
        if let Some(settings) = settings {
            files.insert("/system/state/config.yaml".to_owned(), settings.text.clone());
        }
        let mut empty = vec!["/bin", "/boot", "/dev", "/opt", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var/lib", "/var/log", "/var/mnt"];
        if etcd {
            empty.push("/var/lib/etcd/member/snap");
            empty.push("/var/lib/etcd/member/wal");
        }
        Tree::new(files, &empty)
    }

    pub(super) async fn answer_files(&self, method: &str, request: &mut RequestStream) -> Result<Reply, Status> {
        match method {
            calls::READ => {
                let asked: machine::ReadRequest = read(request).await?;
                let tree = self.tree();
                if asked.path.is_empty() {
                    return Err(Status::not_found("stat : no such file or directory"));
                }
                match tree.files.get(&asked.path) {
                    Some(text) => data(text.as_bytes()),
                    None if tree.directories.contains(&clean(&asked.path)) => Err(Status::unknown("path must be a regular file")),
                    None => Err(Status::not_found(format!("stat {}: no such file or directory", asked.path))),
                }
            }
            calls::LIST => self.list(&read(request).await?),
            calls::DISK_USAGE => self.disk_usage(&read(request).await?),
            calls::COPY => {
                let asked: machine::CopyRequest = read(request).await?;
                self.copy(&asked.root_path)
            }
            _ => unary(&machine::MountsResponse { messages: vec![self.mounts()] }),
        }
    }

    fn list(&self, request: &machine::ListRequest) -> Result<Reply, Status> {
        let root = clean(&request.root);
        let tree = self.tree();
        if !tree.exists(&root) {
            return Err(Status::unknown(format!("lstat {root}: no such file or directory")));
        }
        let deepest = match (request.recurse, request.recursion_depth) {
            (false, _) => 1,
            (true, 0) => usize::MAX,
            (true, depth) => usize::try_from(depth).unwrap_or(1),
        };
        let wanted = |directory: bool| {
            let kind = if directory { machine::ListRequestType::Directory } else { machine::ListRequestType::Regular };
            request.types.is_empty() || request.types.contains(&(kind as i32))
        };
        let modified = i64::try_from(self.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()).unwrap_or_default();
        let info = |(path, _, size, is_dir): (String, usize, usize, bool)| {
            let below = path.strip_prefix(root.as_str()).unwrap_or(&path).trim_start_matches('/');
            machine::FileInfo {
                metadata: None,
                relative_name: if below.is_empty() { ".".to_owned() } else { below.to_owned() },
                size: i64::try_from(size).unwrap_or_default(),
                mode: if is_dir { DIRECTORY | 0o755 } else { 0o644 },
                modified,
                is_dir,
                name: path,
                ..Default::default()
            }
        };
        many(
            tree.walk(&root).into_iter().filter(|(_, depth, _, is_dir)| *depth <= deepest && wanted(*is_dir)).map(info).collect::<Vec<_>>(),
        )
    }

    fn disk_usage(&self, request: &machine::DiskUsageRequest) -> Result<Reply, Status> {
        let tree = self.tree();
        let mut found = Vec::new();
        for asked in &request.paths {
            let root = clean(asked);
            if !tree.exists(&root) {
                let error = format!("lstat {root}: no such file or directory");
                found.push(machine::DiskUsageInfo { relative_name: root.clone(), name: root, error, ..Default::default() });
                continue;
            }
            for (path, depth, size, is_dir) in tree.walk(&root).into_iter().rev() {
                let deep = usize::try_from(request.recursion_depth).unwrap_or_default();
                if (deep > 0 && depth >= deep) || (!is_dir && !request.all) {
                    continue;
                }
                let size = if is_dir { tree.walk(&path).iter().map(|entry| entry.2).sum() } else { size };
                let size = i64::try_from(size).unwrap_or_default();
                if (request.threshold > 0 && size < request.threshold) || (request.threshold < 0 && size > -request.threshold) {
                    continue;
                }
                let below = path.strip_prefix(root.as_str()).unwrap_or(&path).trim_start_matches('/');
                let relative_name = if below.is_empty() { ".".to_owned() } else { below.to_owned() };
                found.push(machine::DiskUsageInfo { metadata: None, name: path, size, error: String::new(), relative_name });
            }
        }
        many(found)
    }

    fn copy(&self, path: &str) -> Result<Reply, Status> {
        if !path.starts_with('/') {
            // What is empty is the current folder by the time it is looked at.
            return Err(Status::unknown(format!("path is not absolute {}", if path.is_empty() { "." } else { path })));
        }
        let root = clean(path);
        let tree = self.tree();
        if !tree.exists(&root) {
            return Err(Status::unknown(format!("lstat {root}: no such file or directory")));
        }
        let mut tar = Vec::new();
        for (name, text) in tree.files.iter().filter(|(name, _)| **name == root || root == "/" || name.starts_with(&format!("{root}/"))) {
            let below = name.strip_prefix(root.as_str()).unwrap_or(name).trim_start_matches('/');
            let below = if below.is_empty() { name.rsplit('/').next().unwrap_or(name) } else { below };
            tar.extend(header(below, text.len(), 0o644));
            tar.extend_from_slice(text.as_bytes());
            tar.resize(tar.len().next_multiple_of(512), 0);
        }
        tar.resize(tar.len() + 1024, 0);
        let packed = gzip(&tar).map_err(|error| Status::unknown(error.to_string()))?;
        data(&packed)
    }

    fn mounts(&self) -> machine::Mounts {
        let stat = |filesystem: &str, mounted_on: &str, size: u64| machine::MountStat {
            filesystem: filesystem.to_owned(),
            size,
            available: size - size / 10,
            mounted_on: mounted_on.to_owned(),
        };
        let mut stats = vec![
            stat("devtmpfs", "/dev", 1 << 30),
            stat("tmpfs", "/run", 1 << 30),
            stat("tmpfs", "/system", 1 << 30),
            stat("/dev/loop0", "/", 70 << 20),
        ];
        let system = self.state().system_disk.clone();
        let device = disks::devices(&self.boot.machine).into_iter().find(|device| system.is_some() && device.drive.volume == system);
        if let Some(device) = device {
            for (partition, size) in resources::layout(device.drive.size) {
                let place = match partition.label {
                    "STATE" => "/system/state",
                    "EPHEMERAL" => "/var",
                    _ => continue,
                };
                stats.push(stat(&format!("{}{}", device.path(), partition.index), place, size));
            }
        }
        machine::Mounts { metadata: None, stats }
    }
}

/// The header of a file in a tar archive.
pub(super) fn header(name: &str, length: usize, mode: u32) -> [u8; 512] {
    let mut header = [0_u8; 512];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    put(0, &name[..name.len().min(100)]);
    put(100, &format!("{mode:07o}\0"));
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{length:011o}\0"));
    put(136, &format!("{now:011o}\0"));
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Packs bytes.
pub(super) fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes)?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_follow_from_files() {
        let files = BTreeMap::from([("/etc/hosts".to_owned(), "x".to_owned()), ("/proc/sys/a".to_owned(), "yy".to_owned())]);
        let tree = Tree::new(files, &["/var/lib"]);
        let paths: Vec<_> = tree.walk("/").into_iter().map(|(path, depth, ..)| (path, depth)).collect();
        let expected =
            [("/", 0), ("/etc", 1), ("/etc/hosts", 2), ("/proc", 1), ("/proc/sys", 2), ("/proc/sys/a", 3), ("/var", 1), ("/var/lib", 2)];
        assert_eq!(paths, expected.map(|(path, depth)| (path.to_owned(), depth)));
        assert_eq!(tree.walk("/proc").len(), 3);
        assert_eq!(clean("etc/"), "/etc");
    }
}
