//! The pause of a session between its ops. Must not send an op.

use tokio::sync::watch;

use super::{Closed, Connected, Worker};

impl Worker {
    /// Waits until the session's pause or the load is over; fails if the target closes the session meanwhile.
    ///
    /// A pause is neither session wait nor client lag: the session is idle for its next op when it is over.
    pub(super) async fn pause(
        &self,
        link: &mut Connected,
        changed: &mut watch::Receiver<u64>,
    ) -> Result<(), Closed> {
        let Some(think) = &self.think else {
            return Ok(());
        };
        let until = think.resumes();
        loop {
            let end = until.min(self.schedule.end());
            if self.timeline.now() >= end {
                break;
            }
            self.wait_open(end, link.session.as_mut(), changed).await?;
        }
        link.free = link.free.max(until);
        Ok(())
    }
}
