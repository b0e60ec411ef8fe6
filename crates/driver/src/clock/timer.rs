//! The timer that wakes an executor thread, set to one deadline. Linux has one that wakes it within tens of microseconds;
//! on another system it is the executor's own, with millisecond steps. Must not know what waits for it.

use std::io;

use highwater_model::units::Nanos;

#[cfg(target_os = "linux")]
pub(super) use linux::Timer;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Timer;

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::unix::AsyncFd;

    use super::{Nanos, io};

    pub(in super::super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(in super::super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(
                deprecated,
                reason = "its successor is unsafe; an owned descriptor keeps what that requires"
            )]
            AsyncFd::new(fd).map(Self)
        }

        /// Replaces the deadline.
        pub(in super::super) fn set(&self, left: Nanos) -> io::Result<()> {
            let left = left.0.max(1);
            let value = Timespec {
                tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or(0),
            };
            let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            Ok(())
        }

        /// Waits for the deadline, or a moment at which it may have passed.
        pub(in super::super) async fn wait(&self) -> io::Result<()> {
            let mut ready = self.0.readable().await?;
            let mut count = [0_u8; 8];
            // An empty read means that the timer was reset meanwhile.
            let _ignored = ready
                .try_io(|fd| rustix::io::read(fd.get_ref(), &mut count).map_err(io::Error::from));
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::cell::Cell;
    use std::time::Duration;

    use tokio::sync::Notify;
    use tokio::time::{Instant, sleep_until};

    use super::{Nanos, io};

    pub(in super::super) struct Timer {
        deadline: Cell<Option<Instant>>,
        changed: Notify,
    }

    impl Timer {
        #[expect(clippy::unnecessary_wraps, reason = "elsewhere the system creates it")]
        pub(in super::super) fn new() -> io::Result<Self> {
            Ok(Self { deadline: Cell::new(None), changed: Notify::new() })
        }

        /// Replaces the deadline.
        #[expect(clippy::unnecessary_wraps, reason = "elsewhere the system sets it")]
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        pub(in super::super) fn set(&self, left: Nanos) -> io::Result<()> {
            self.deadline.set(Some(Instant::now() + Duration::from_nanos(left.0)));
            self.changed.notify_one();
            Ok(())
        }

        /// Waits for the deadline, or a moment at which it may have passed.
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        pub(in super::super) async fn wait(&self) -> io::Result<()> {
            match self.deadline.get() {
                None => self.changed.notified().await,
                Some(deadline) => tokio::select! {
                    () = sleep_until(deadline) => self.deadline.set(None),
                    () = self.changed.notified() => {}
                },
            }
            Ok(())
        }
    }
}
