//! The lock that admits one writer after the other.

use super::*;

#[test]
fn the_writer_lock_is_acquired_in_the_order_of_arrival() {
    let lock = FairWriterLock::default();
    let order = Mutex::new(Vec::new());
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        let first = lock.acquire();
        for number in 0..6 {
            let (lock, order, inside) = (&lock, &order, &inside);
            scope.spawn(move || {
                let _writer = lock.acquire();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                order.lock().unwrap().push(number);
                inside.fetch_sub(1, Ordering::SeqCst);
            });
            // The next one arrives only once this one waits.
            while lock.waiting() <= number {
                thread::yield_now();
            }
        }
        drop(first);
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    drop(lock.acquire());
}

#[test]
fn a_writer_lock_that_is_handed_over_was_never_free() {
    let lock = FairWriterLock::default();
    let done = AtomicBool::new(false);
    let waited = thread::scope(|scope| {
        let first = lock.acquire();
        let second = scope.spawn(|| {
            let _writer = lock.acquire();
            scope.spawn(|| {
                drop(lock.acquire());
                done.store(true, Ordering::SeqCst);
            });
            loop {
                let waits = lock.waiting() > 0;
                if waits || done.load(Ordering::SeqCst) {
                    return waits;
                }
                thread::yield_now();
            }
        });
        while lock.waiting() == 0 {
            thread::yield_now();
        }
        drop(first);
        second.join().unwrap()
    });
    assert!(waited);
}

#[test]
fn a_panic_releases_the_writer_lock() {
    let lock = FairWriterLock::default();
    thread::scope(|scope| {
        let panicking = scope.spawn(|| {
            let _writer = lock.acquire();
            panic!("on purpose");
        });
        assert!(panicking.join().is_err());
    });
    drop(lock.acquire());
}
