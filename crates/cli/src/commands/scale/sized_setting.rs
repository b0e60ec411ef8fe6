//! A setting that depends on the size of the cluster: a list with a value for each size, or an expression in `n`, such
//! as `16n` or `8+8n`. Must not depend on the meaning of a setting.

use highwater_model::quantity::parse_count;
use highwater_model::user_error::UserError;

const HINT: &str = "write a value for each size (30,30,60), or an expression in n: `16n`, `8+8n`";

/// The value for the size at index `at` of `nodes`; a text that depends on no size is returned for every size.
pub(super) fn value(text: &str, nodes: &[u32], at: usize) -> Result<String, UserError> {
    let size = nodes.get(at).copied().unwrap_or(1);
    let values: Vec<&str> = text.split(',').collect();
    let own = match values.as_slice() {
        [one] => *one,
        _ if values.len() == nodes.len() => values.get(at).copied().unwrap_or_default(),
        _ => {
            let (given, sizes) = (values.len(), nodes.len());
            return Err(UserError::usage(format!("`{text}` has {given} values for {sizes} sizes"))
                .with_hint(HINT));
        }
    };
    expression(own, size).unwrap_or_else(|| Ok(own.to_owned()))
}

/// Whether the text has a different value for each size.
pub(super) fn depends(text: &str) -> bool {
    text.contains(',') || expression(text, 1).is_some()
}

/// Whether the text is an expression, or a list with a number or an expression for each size.
pub(super) fn are_numbers(text: &str, nodes: &[u32]) -> bool {
    let is_number = |text: &str| expression(text, 1).is_some() || parse_count(text).is_ok();
    let values: Vec<&str> = text.split(',').collect();
    [1, nodes.len()].contains(&values.len()) && values.into_iter().all(is_number)
}

/// A sum in which `n` is the size; absent if there is no `n` in it, or if it is not a sum.
fn expression(text: &str, size: u32) -> Option<Result<String, UserError>> {
    let mut with_size = false;
    let mut sum = Some(0_u64);
    for term in text.split('+').map(str::trim) {
        let (factor, times) = match term.strip_suffix('n') {
            Some(factor) => {
                with_size = true;
                (factor.trim_end_matches('*').trim(), u64::from(size))
            }
            None => (term, 1),
        };
        let factor = match factor {
            "" if times == 1 && !term.ends_with('n') => return None,
            "" => 1,
            number => parse_count(number).ok()?,
        };
        let product = factor.checked_mul(times);
        sum = sum.zip(product).and_then(|(sum, product)| sum.checked_add(product));
    }
    with_size.then(|| {
        sum.map(|sum| sum.to_string()).ok_or_else(|| {
            UserError::usage(format!("`{text}` is too large with {size} nodes")).with_hint(HINT)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: [&str; 3]) {
        let nodes = [1, 3, 6];
        let values = [0, 1, 2].map(|at| value(text, &nodes, at).unwrap());
        assert_eq!(values, expected, "{text}");
    }

    #[test]
    fn a_setting_is_a_list_an_expression_or_the_same_for_all() {
        check("16n", ["16", "48", "96"]);
        check("8+8n", ["16", "32", "56"]);
        check("8n + 8", ["16", "32", "56"]);
        check("n", ["1", "3", "6"]);
        check("2*n", ["2", "6", "12"]);
        check("10Mn", ["10000000", "30000000", "60000000"]);
        check("n+n", ["2", "6", "12"]);
        check("30,30,60", ["30", "30", "60"]);
        check("1k,n,2n", ["1k", "3", "12"]);
        for same in ["64", "0-1", "100ms", "json", "min", "", "an", "8+"] {
            check(same, [same; 3]);
            assert!(!depends(same), "{same}");
        }
        assert!(depends("16n") && depends("1,2"));
    }

    #[test]
    fn a_list_has_a_value_for_each_size_and_no_value_is_too_large() {
        let few = value("1,2", &[1, 2, 3], 0).unwrap_err();
        assert_eq!(few.message, "`1,2` has 2 values for 3 sizes");
        let large = value("18446744073709551615n", &[2], 0).unwrap_err();
        assert!(large.message.contains("too large"), "{large:?}");
    }
}
