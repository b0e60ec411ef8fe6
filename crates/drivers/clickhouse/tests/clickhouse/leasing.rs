//! Leases on a server without transactions or updates.

use highwater_driver::{Lease, LeaseAction};

use crate::client::{admin, on_server, started};

fn lease(token: &str) -> Lease {
    Lease {
        table: "points".to_owned(),
        share: 1,
        shares: 1,
        token: token.to_owned(),
        plan: "p".to_owned(),
        ..Lease::default()
    }
}

fn tokens(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.token.as_str()).collect()
}

#[test]
fn of_takers_at_the_same_moment_one_has_it_and_all_see_the_same() {
    on_server(started(), async |_server, target| {
        let mut one = admin(target.as_ref()).await.unwrap();
        let mut two = admin(target.as_ref()).await.unwrap();
        let mut three = admin(target.as_ref()).await.unwrap();
        one.leases(LeaseAction::Read).await.unwrap();
        let mut winners = std::collections::BTreeSet::new();
        for round in 0..15 {
            let names = ["c", "a", "b"].map(|name| format!("{name}{round}"));
            let [first, second, third] = names.each_ref().map(|name| [lease(name)]);
            let (first, second, third) = tokio::join!(
                one.leases(LeaseAction::Take(&first)),
                two.leases(LeaseAction::Take(&second)),
                three.leases(LeaseAction::Take(&third)),
            );
            let (first, second, third) = (first.unwrap(), second.unwrap(), third.unwrap());
            assert_eq!(first.len(), 1, "{first:?}");
            assert_eq!(tokens(&first), tokens(&second));
            assert_eq!(tokens(&first), tokens(&third));
            winners.insert(first[0].token.clone());
            // The losers hold nothing when the winner ends.
            let left = one.leases(LeaseAction::End(&first[0].token)).await.unwrap();
            assert!(left.is_empty(), "{left:?}");
        }
        assert_eq!(winners.len(), 15);
    });
}

#[test]
fn a_lease_can_be_taken_again_after_its_end_and_a_dead_taker_blocks_only_briefly() {
    on_server(started(), async |server, target| {
        let mut one = admin(target.as_ref()).await.unwrap();
        one.leases(LeaseAction::Read).await.unwrap();
        for _ in 0..2 {
            let taken = one.leases(LeaseAction::Take(&[lease("a")])).await.unwrap();
            assert_eq!(tokens(&taken), ["a"]);
            assert!(one.leases(LeaseAction::End("a")).await.unwrap().is_empty());
        }
        // Left by a process that was killed between the two statements, eleven seconds ago.
        server.sql(
            "INSERT INTO highwater_leases (table_name, share, token, event, at_ms) \
             SELECT 'points', 1, 'dead', 'choosing', (toUnixTimestamp(now()) - 11) * 1000",
        );
        let taken = one.leases(LeaseAction::Take(&[lease("b")])).await.unwrap();
        assert_eq!(tokens(&taken), ["b"]);
        let renewed = one.leases(LeaseAction::Renew("b")).await.unwrap();
        assert_eq!(tokens(&renewed), ["b"]);
    });
}
