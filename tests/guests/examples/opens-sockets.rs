//! Dials the address of its settings by itself, listens, sends datagrams and looks names up.

use std::io::Write;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

use emhost_sdk::{Failure, Unit};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let address: String = unit.operation.read_settings()?;
    let mut reached = Vec::new();
    if let Ok(mut stream) = TcpStream::connect(&address) {
        // The connection alone is a leak; what becomes of the request does not matter.
        let _ = stream.write_all(b"GET /raw HTTP/1.1\r\nhost: x\r\n\r\n");
        reached.push("a connection");
    }
    if TcpListener::bind("127.0.0.1:0").is_ok() {
        reached.push("a listener");
    }
    if let Ok(socket) = UdpSocket::bind("127.0.0.1:0") {
        reached.push("a socket");
        if socket.send_to(b"hello", &address).is_ok() {
            reached.push("a datagram");
        }
    }
    if ("localhost", 80).to_socket_addrs().is_ok_and(|found| found.count() > 0) {
        reached.push("a name");
    }
    Ok(if reached.is_empty() { "nothing".to_owned() } else { reached.join(", ") })
}

guests::provisioner!(act);
