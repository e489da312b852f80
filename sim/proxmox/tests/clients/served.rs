//! What clients are pointed at: the example server in a process of its own, and a web server with an image.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::site::{Api, Who};

/// The example, until it is dropped.
pub struct Served {
    child: Child,
    said: Value,
    _folder: tempfile::TempDir,
}

impl Served {
    /// Starts it with dials such as `profile=home`.
    pub fn start(release: &str, dials: &[&str]) -> Self {
        let built = std::env::current_exe().unwrap();
        let example = built.parent().unwrap().parent().unwrap().join("examples/pve");
        assert!(example.is_file(), "{} is built by `cargo build --examples`", example.display());
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(example);
        command.args(["127.0.0.1:0", release]).arg(folder.path()).args(dials).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, said: serde_json::from_str(&line).unwrap(), _folder: folder }
    }

    /// What it said about itself.
    pub fn text(&self, key: &str) -> &str {
        self.said[key].as_str().unwrap()
    }

    /// An administrator of our own, to look behind what the client did.
    pub fn api(&self) -> Api {
        emhost_sim_kit::tls::provider();
        let authority = reqwest::Certificate::from_pem(self.text("authority").as_bytes()).unwrap();
        // Nothing is kept open: it would have been closed while the client ran.
        let http = reqwest::Client::builder().tls_certs_only([authority]).no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Api { http, base: format!("{}/api2/json", self.text("url")), who: Who::Token(self.text("token").to_owned()) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// A web server with an image of 10 GiB that holds nothing.
pub fn image() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/talos.qcow2", listener.local_addr().unwrap());
    let mut image = b"QFI\xfb\0\0\0\x03".to_vec();
    image.extend([0; 16]);
    image.extend((10_u64 << 30).to_be_bytes());
    image.resize(65536, 0);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read_exact(&mut byte).is_err() {
                    break;
                }
                head.extend(byte);
            }
            let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", image.len()).into_bytes();
            if head.starts_with(b"GET") {
                answer.extend_from_slice(&image);
            }
            stream.write_all(&answer).ok();
        }
    });
    url
}
