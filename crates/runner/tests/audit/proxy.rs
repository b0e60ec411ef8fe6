//! A proxy on loopback that cuts connections in the middle of what a client sends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// Connections that are cut, at most one after another.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    open: Arc<AtomicBool>,
}

impl Proxy {
    /// Passes bytes on to a port of this machine. So many connections are cut, each when this many
    /// bytes of its client have passed; those after them are left alone, and so is the first: it
    /// makes the tables, and without tables there is no run to audit.
    pub(crate) fn start(to: u16, cuts: u32, after: usize) -> Self {
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
                let left = if number == 0 {
                    Arc::default()
                } else {
                    Arc::clone(&left)
                };
                let (mut from, mut back) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || {
                    // Ends with either side.
                    drop(std::io::copy(&mut from, &mut back));
                    drop(back.shutdown(Shutdown::Both));
                });
                thread::spawn(move || pass(client, server, &left, after));
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

fn pass(mut client: TcpStream, mut server: TcpStream, left: &AtomicU32, after: usize) {
    let mut buffer = [0; 512];
    let mut passed = 0;
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let part = if passed + count >= after {
            after.saturating_sub(passed)
        } else {
            count
        };
        if server.write_all(&buffer[..part]).is_err() {
            break;
        }
        passed += count;
        let takes = |cuts: u32| cuts.checked_sub(1);
        if passed >= after {
            if left
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, takes)
                .is_ok()
            {
                break;
            }
            if server.write_all(&buffer[part..count]).is_err() {
                break;
            }
            // This one lives.
            drop(std::io::copy(&mut client, &mut server));
            break;
        }
    }
    drop(client.shutdown(Shutdown::Both));
    drop(server.shutdown(Shutdown::Both));
}
