//! Uploads: a multipart body whose file goes to disk as it comes in.
//!
//! pveproxy does not read multipart bodies in general. It knows three fields,
//! in one order, and then the file, which has to be called `filename` and to be
//! the last (facts §8).

use std::collections::BTreeMap;
use std::path::Path;

use emhost_sim_kit::Store;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use rand::Rng as _;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use crate::call::Upload;
use crate::schema::Given;

const FIELDS: [&str; 3] = ["content", "checksum-algorithm", "checksum"];
/// Fields and part headers are never longer.
const LONGEST_HEAD: usize = 64 * 1024;

/// Removes files of uploads that were cut off with the simulator.
pub(super) fn tidy(store: &Store) -> std::io::Result<()> {
    let folder = store.file("pve/upload/any")?;
    for entry in folder.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten() {
        std::fs::remove_file(entry.path())?;
    }
    Ok(())
}

/// Takes the body in: its fields, and where its file is.
pub(super) async fn receive(
    store: &Store,
    body: Incoming,
    boundary: &str,
    length: u64,
) -> Result<(BTreeMap<String, Given>, Upload), String> {
    let name = format!("pve/upload/pveupload-{:032x}", rand::thread_rng().r#gen::<u128>());
    let path = store.file(&name).map_err(|error| error.to_string())?;
    match read(&path, body, boundary, length).await {
        Ok((fields, name)) => Ok((fields, Upload { path, name })),
        Err(text) => {
            if tokio::fs::remove_file(&path).await.is_err() {
                // It was not made yet.
            }
            Err(text)
        }
    }
}

async fn read(path: &Path, mut body: Incoming, boundary: &str, length: u64) -> Result<(BTreeMap<String, Given>, String), String> {
    let mut parser = Parser::new(boundary);
    let mut file = File::create(path).await.map_err(|_| format!("unable to create temporary upload file '{}'", path.display()))?;
    let mut read = 0_u64;
    while !parser.finished {
        let frame = body.frame().await.ok_or("upload failed")?.map_err(|_| "upload failed")?;
        let Ok(data) = frame.into_data() else { continue };
        read += data.len() as u64;
        let ready = parser.take(&data)?;
        file.write_all(&ready).await.map_err(|error| format!("write to temporary file failed - {error}\n"))?;
        if read >= length && !parser.finished {
            return Err("upload failed".to_owned());
        }
    }
    file.flush().await.map_err(|error| format!("write to temporary file failed - {error}\n"))?;
    let name = parser.file_name.ok_or("upload failed")?;
    parser.fields.insert("filename".to_owned(), Given::Text(name.clone()));
    Ok((parser.fields, name))
}

/// Finds fields and file in the bytes as they arrive.
struct Parser {
    boundary: Vec<u8>,
    buffer: Vec<u8>,
    fields: BTreeMap<String, Given>,
    file_name: Option<String>,
    finished: bool,
}

impl Parser {
    fn new(boundary: &str) -> Self {
        let boundary = format!("--{}", boundary.trim_matches('"')).into_bytes();
        Self { boundary, buffer: Vec::new(), fields: BTreeMap::new(), file_name: None, finished: false }
    }

    /// Takes bytes, and gives those of the file that are certain.
    fn take(&mut self, data: &[u8]) -> Result<Vec<u8>, String> {
        self.buffer.extend_from_slice(data);
        while self.file_name.is_none() {
            if !self.part()? {
                if self.buffer.len() > LONGEST_HEAD {
                    return Err("upload failed".to_owned());
                }
                return Ok(Vec::new());
            }
        }
        let close = [&self.boundary[..], b"--"].concat();
        if let Some(at) = find(&self.buffer, &close) {
            self.finished = true;
            let data = &self.buffer[..at];
            let data = data.strip_suffix(b"\r\n").or_else(|| data.strip_suffix(b"\n")).unwrap_or(data);
            return Ok(data.to_vec());
        }
        // What could be the beginning of the boundary, with its line end, waits for more.
        let held = close.len() + 2;
        let ready = self.buffer.len().saturating_sub(held);
        Ok(self.buffer.drain(..ready).collect())
    }

    /// Reads one part's head, and its value unless it is the file; false where more bytes are needed.
    fn part(&mut self) -> Result<bool, String> {
        let Some(start) = find(&self.buffer, &self.boundary) else { return Ok(false) };
        let after = start + self.boundary.len();
        let Some((head_end, data_start)) = blank_line(&self.buffer, after) else { return Ok(false) };
        let head = String::from_utf8_lossy(&self.buffer[after..head_end]).into_owned();
        let disposition = head.lines().find_map(|line| line.strip_prefix("Content-Disposition: ")).ok_or("upload failed")?;
        let kind = disposition.split(';').next().unwrap_or_default();
        if kind != "form-data" {
            return Err(format!("wrong Content-Disposition '{kind}' in multipart, expected 'form-data'\n"));
        }
        let attribute = |name: &str| {
            let start = disposition.find(&format!("; {name}=\""))? + name.len() + 4;
            disposition[start..].split('"').next().map(str::to_owned)
        };
        let name = attribute("name").ok_or("upload failed")?;
        if let Some(file_name) = attribute("filename").filter(|name| !name.is_empty()) {
            if name != "filename" {
                return Err(format!("wrong field name '{name}' for file upload, expected 'filename'"));
            }
            self.file_name = Some(file_name.trim().to_owned());
            self.buffer.drain(..data_start);
            return Ok(true);
        }
        let Some(length) = find(&self.buffer[data_start..], &self.boundary) else { return Ok(false) };
        // Other fields, and known ones out of their order, are what pveproxy stumbles over.
        let order = |name: &str| FIELDS.iter().position(|field| *field == name);
        let this = order(&name).ok_or("upload failed")?;
        if self.fields.keys().filter_map(|name| order(name)).any(|earlier| earlier >= this) {
            return Err("upload failed".to_owned());
        }
        let value = String::from_utf8_lossy(&self.buffer[data_start..data_start + length]).trim().to_owned();
        self.fields.insert(name, Given::Text(value));
        self.buffer.drain(..data_start + length);
        Ok(true)
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Where the lines before a blank line end, and where what follows begins.
fn blank_line(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let tail = bytes.get(from..)?;
    let (at, length) = [b"\r\n\r\n".as_slice(), b"\n\n"].into_iter().filter_map(|end| Some((find(tail, end)?, end.len()))).min()?;
    Some((from + at, from + at + length))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const BODY: &str = "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n--B\r\n\
        Content-Disposition: form-data; name=\"filename\"; filename=\"a b.iso\"\r\nContent-Type: application/octet-stream\r\n\r\n\
        \r\n--Bytes\r\n-\r\n--B--\r\n";

    #[test]
    fn a_file_is_whole_however_the_bytes_arrive() {
        for step in 1..BODY.len() {
            let mut parser = Parser::new("B");
            let file: Vec<u8> = BODY
                .as_bytes()
                .chunks(step)
                .flat_map(|chunk| if parser.finished { Vec::new() } else { parser.take(chunk).unwrap() })
                .collect();
            assert!(parser.finished);
            assert_eq!(String::from_utf8(file).unwrap(), "\r\n--Bytes\r\n-", "in steps of {step}");
            assert_eq!(parser.file_name.as_deref(), Some("a b.iso"));
            assert_eq!(parser.fields["content"], Given::from("iso"));
        }
    }

    #[test]
    fn the_file_has_to_be_called_filename() {
        let error = Parser::new("B").take(BODY.replace("\"filename\"", "\"file\"").as_bytes()).unwrap_err();
        assert_eq!(error, "wrong field name 'file' for file upload, expected 'filename'");
    }
}
