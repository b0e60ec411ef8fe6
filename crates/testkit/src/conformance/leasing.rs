//! Rules about leases of tables.

use highwater_model::units::Nanos;

use super::broken::{Broken, require};
use super::subject::Subject;
use highwater_driver::contract::Admin;
use highwater_driver::table_registry::{Lease, LeaseAction, Owner};

/// Name of the leased table; it need not exist.
const TABLE: &str = "highwater_conformance_leased";
/// Time between two heartbeats: longer than the one-second resolution of some targets' clocks.
const PAUSE: Nanos = Nanos::from_millis(1_200);

fn lease(token: &str, share: u32) -> Lease {
    Lease {
        table: TABLE.to_owned(),
        share,
        shares: 2,
        token: token.to_owned(),
        plan: "plan's".to_owned(),
        owner: Owner {
            name: "alice@host".to_owned(),
            machine: "boot pid:[1]".to_owned(),
            process: 4_711,
            started: 17,
        },
        ..Lease::default()
    }
}

async fn leases(admin: &mut dyn Admin, action: LeaseAction<'_>) -> Result<Vec<Lease>, Broken> {
    let mut found = admin.leases(action).await?;
    found.retain(|lease| lease.table == TABLE);
    found.sort_by_key(|lease| lease.share);
    Ok(found)
}

fn tokens(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.token.as_str()).collect()
}

/// Only one of two takers gets a lease, heartbeats are visible, and an ended lease can be taken again.
pub(super) async fn a_share_of_a_table_is_leased_once_and_given_back(
    subject: &Subject,
) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let mut one = subject.admin(target.as_ref()).await?;
    let mut two = subject.admin(target.as_ref()).await?;
    for left in leases(one.as_mut(), LeaseAction::Read).await? {
        leases(one.as_mut(), LeaseAction::End(&left.token)).await?;
    }
    let mine = [lease("mine", 1)];
    let taken = leases(one.as_mut(), LeaseAction::Take(&mine)).await?;
    require!(tokens(&taken) == ["mine"], "taken, and found {taken:?}");
    let same =
        Lease { held: Nanos::ZERO, silent: Nanos::ZERO, is_locked: None, ..taken[0].clone() };
    require!(same == mine[0], "{same:?} came back of {mine:?}");
    let both = [lease("theirs", 1), lease("theirs", 2)];
    let taken = leases(two.as_mut(), LeaseAction::Take(&both)).await?;
    require!(tokens(&taken) == ["mine", "theirs"], "share 1 was held, and found {taken:?}");
    let pause = subject.timeline.now().saturating_add(PAUSE);
    subject.timeline.sleep_until(pause).await;
    let found = leases(two.as_mut(), LeaseAction::Renew("theirs")).await?;
    let silent: Vec<Nanos> = found.iter().map(|lease| lease.silent).collect();
    require!(
        silent[0] >= Nanos::from_millis(200) && silent[1] < silent[0],
        "a heartbeat of `theirs`, and silent are {silent:?}"
    );
    let left = leases(one.as_mut(), LeaseAction::End("mine")).await?;
    require!(tokens(&left) == ["theirs"], "one ended, and found {left:?}");
    let left = leases(one.as_mut(), LeaseAction::End("theirs")).await?;
    require!(left.is_empty(), "all ended, and found {left:?}");
    Ok(())
}
