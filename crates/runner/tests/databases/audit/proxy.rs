//! A proxy on loopback that cuts connections in the middle of what a client sends, or before what it is
//! answered.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// What a client does not get through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The rest of a request.
    Request,
    /// The answer to a request that passed as a whole.
    Answer,
}

/// Connections that are cut, at most one after another.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    open: Arc<AtomicBool>,
}

impl Proxy {
    /// Passes bytes on to a port of this machine. So many connections are cut, each when this many
    /// bytes of its client have passed; those after them are left alone, and so is the first: it
    /// makes the tables, and without tables there is no run to audit.
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
        // Wakes the one that accepts.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// When one connection is cut, and how.
struct Plan {
    cut: Cut,
    /// Bytes of the client.
    after: usize,
    /// The next answer does not come back.
    mute: Arc<AtomicBool>,
}

/// Passes on what the server says, until that is to be lost: then its first byte ends the connection.
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
            // This one lives, or ends with its answer.
            drop(std::io::copy(&mut client, &mut server));
            break;
        }
    }
    drop(client.shutdown(Shutdown::Both));
    drop(server.shutdown(Shutdown::Both));
}
