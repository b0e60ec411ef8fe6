//! A proxy on loopback that cuts connections in the middle of a client's request, or before its response.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// The part that does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The rest of a request.
    Request,
    /// The response to a complete request.
    Answer,
}

/// Connections to cut, one after the other.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    open: Arc<AtomicBool>,
}

impl Proxy {
    /// Forwards bytes to a port of this machine. Cuts this many connections, each after this many bytes from its
    /// client. Later connections are not cut, and neither is the first: it creates the tables, without which there is
    /// no run to audit.
    pub(crate) fn start(to: u16, cut: Cut, cuts: u32, after: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = Arc::new(AtomicBool::new(true));
        let left = Arc::new(AtomicU32::new(cuts));
        let accepting = Arc::clone(&open);
        thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                if !accepting.load(Ordering::Acquire) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", to)))
                else {
                    continue;
                };
                let left = if number == 0 { Arc::default() } else { Arc::clone(&left) };
                let (mut from, mut back) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                let mute = Arc::new(AtomicBool::new(false));
                let muted = Arc::clone(&mute);
                thread::spawn(move || {
                    // Ends with either side.
                    answer(&mut from, &mut back, &muted);
                    drop(back.shutdown(Shutdown::Both));
                    drop(from.shutdown(Shutdown::Both));
                });
                let plan = Plan { cut, after, mute };
                thread::spawn(move || pass(client, server, &left, &plan));
            }
        });
        Self { port, open }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.open.store(false, Ordering::Release);
        // Wakes the accepting thread.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// When and how to cut one connection.
struct Plan {
    cut: Cut,
    /// Bytes of the client.
    after: usize,
    /// Suppress the next response.
    mute: Arc<AtomicBool>,
}

/// Forwards the server's responses until one is to be lost: its first byte then ends the connection.
fn answer(server: &mut TcpStream, client: &mut TcpStream, muted: &AtomicBool) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        if muted.load(Ordering::Acquire) || client.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

fn pass(mut client: TcpStream, mut server: TcpStream, left: &AtomicU32, plan: &Plan) {
    let after = plan.after;
    let mut buffer = [0; 512];
    let mut passed = 0;
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let part = if passed + count >= after { after.saturating_sub(passed) } else { count };
        if server.write_all(&buffer[..part]).is_err() {
            break;
        }
        passed += count;
        let takes = |cuts: u32| cuts.checked_sub(1);
        if passed >= after {
            if left.fetch_update(Ordering::AcqRel, Ordering::Acquire, takes).is_ok() {
                if plan.cut == Cut::Request {
                    break;
                }
                plan.mute.store(true, Ordering::Release);
            }
            if server.write_all(&buffer[part..count]).is_err() {
                break;
            }
            // This one stays, or ends with its response.
            drop(std::io::copy(&mut client, &mut server));
            break;
        }
    }
    drop(client.shutdown(Shutdown::Both));
    drop(server.shutdown(Shutdown::Both));
}
