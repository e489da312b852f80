//! The body of an upload: fields first, the file last, as Proxmox wants it (facts §8).

use crate::digest::sha256;

/// Content type and body for a medium that is kept as an ISO image.
pub fn multipart(name: &str, bytes: &[u8]) -> (String, Vec<u8>) {
    let digest = sha256(bytes);
    // Out of the content, so that it cannot be part of it.
    let boundary = format!("emhost-{digest}");
    let mut body = Vec::with_capacity(bytes.len() + 1024);
    for (key, value) in [("content", "iso"), ("checksum-algorithm", "sha256"), ("checksum", &digest)] {
        body.extend_from_slice(format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{key}\"\r\n\r\n{value}\r\n").as_bytes());
    }
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_first_and_the_file_last() {
        let (kind, body) = multipart("a.iso", b"\r\n--x");
        let text = String::from_utf8(body).expect("text");
        let names: Vec<&str> = text.split("name=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(names, ["content", "checksum-algorithm", "checksum", "filename", "a.iso"]);
        let boundary = kind.split_once("boundary=").expect("a boundary").1;
        assert!(text.ends_with(&format!("\r\n\r\n\r\n--x\r\n--{boundary}--\r\n")));
    }
}
