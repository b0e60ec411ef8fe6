//! A proxy to a server, which can be closed and reopened on the same port, as if the server itself went away and came
//! back. Must not depend on the protocol.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const LOOKS: u32 = 1_000;
const LOOK: Duration = Duration::from_millis(5);

/// The proxy.
pub(crate) struct Proxy {
    port: u16,
    server: u16,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    closed: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Proxy {
    /// A proxy to the server on this port of this machine.
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut proxy = Self {
            port: listener.local_addr().unwrap().port(),
            server,
            streams: Arc::default(),
            closed: Arc::default(),
            accepting: None,
        };
        proxy.accept(listener);
        proxy
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections; new ones are refused.
    pub(crate) fn close(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, so that it closes the port.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(accepting) = self.accepting.take() {
            accepting.join().unwrap();
        }
        for stream in self.streams.lock().unwrap().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    pub(crate) fn open(&mut self) {
        self.closed.store(false, Ordering::SeqCst);
        // A process started by another test holds the port, too, until it executes its program.
        let free = (0..LOOKS).find_map(|_| {
            let listener = TcpListener::bind(("127.0.0.1", self.port));
            listener.inspect_err(|_| thread::sleep(LOOK)).ok()
        });
        self.accept(free.unwrap());
    }

    fn accept(&mut self, listener: TcpListener) {
        let closed = Arc::clone(&self.closed);
        let streams = Arc::clone(&self.streams);
        let server = self.server;
        self.accepting = Some(thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                let upstream = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let mut streams = streams.lock().unwrap();
                for (from, to) in [(&stream, &upstream), (&upstream, &stream)] {
                    from.set_nodelay(true).unwrap();
                    streams.push(from.try_clone().unwrap());
                    pass_on(from.try_clone().unwrap(), to.try_clone().unwrap());
                }
            }
        }));
    }
}

/// Forwards all data until its end.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        drop(io::copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Both));
    });
}
