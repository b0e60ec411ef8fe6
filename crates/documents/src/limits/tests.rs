//! The minimum quality of the matrix, for a few runs of each kind daily, and for many in the long tests.

use super::*;

/// At least this fraction of each kind is named correctly.
const RIGHT: f64 = 0.9;

fn check(runs: u64) {
    let matrix = Matrix::new(runs);
    println!("{}", table(&matrix));
    for &limited in LimitedResource::ALL {
        let right = matrix.right(limited);
        assert!(right >= RIGHT, "{limited:?}: {right}: {:#?}", matrix.wrong);
    }
    let (wrong_where_withheld, _) = matrix.withheld;
    assert_eq!(wrong_where_withheld, 0);
}

#[test]
fn the_one_resource_that_is_limited_is_named() {
    check(2);
}

#[test]
#[ignore = "hundreds of runs"]
fn long_nine_of_ten_limits_are_named_and_no_wrong_one_without_telemetry() {
    check(60);
}
