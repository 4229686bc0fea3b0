//! Statistics, with expected numbers computed by hand.

use insta::assert_snapshot;

use crate::{
    ArmPair, ArmResult, Interval, PassTally, accuracy, bootstrap, compare_arms, mcnemar, wilson,
};

fn tally(passes: usize, judged: usize) -> PassTally {
    PassTally { judged, passes }
}

#[track_caller]
fn is_near(given: f64, expected: f64) {
    assert!(
        (given - expected).abs() <= 0.0005,
        "{given} is not {expected}"
    );
}

/// Three of five repeats passed: C(2,2)/C(5,2) = 1/10, C(3,2)/C(5,2) = 3/10, C(3,3)/C(5,3) = 1/10.
#[test]
fn repeats_have_exact_chances() {
    let three = tally(3, 5);
    is_near(three.rate().unwrap(), 0.6);
    is_near(three.pass_at(1).unwrap(), 0.6);
    is_near(three.pass_at(2).unwrap(), 0.9);
    is_near(three.pass_at(3).unwrap(), 1.0);
    is_near(three.pass_all(1).unwrap(), 0.6);
    is_near(three.pass_all(2).unwrap(), 0.3);
    is_near(three.pass_all(3).unwrap(), 0.1);
    is_near(three.pass_all(4).unwrap(), 0.0);
    assert_eq!(three.pass_at(6), None);
    assert_eq!(three.pass_all(0), None);
    assert_eq!(tally(0, 0).rate(), None);
    let flaky = [tally(0, 3), tally(1, 3), tally(3, 3)].map(PassTally::is_flaky);
    assert_eq!(flaky, [false, true, false]);
    let majorities = [tally(1, 2), tally(2, 3), tally(0, 0)].map(PassTally::is_mostly_passed);
    assert_eq!(majorities, [false, true, false]);
}

#[test]
fn wilson_bounds_a_share() {
    let bounds = |passes, trials| {
        let Interval { low, high } = wilson(passes, trials).unwrap();
        format!("{low:.4} {high:.4}")
    };
    // z² = 3.8415: (0.8 + 0.1921 ± 0.3136)/1.3841.
    assert_eq!(bounds(8, 10), "0.4902 0.9433");
    // z²/(10 + z²).
    assert_eq!(bounds(0, 10), "0.0000 0.2775");
    assert_eq!(bounds(10, 10), "0.7225 1.0000");
    assert_eq!(wilson(0, 0), None);
}

#[test]
fn the_bootstrap_is_the_same_each_time() {
    assert_eq!(bootstrap(&[]), None);
    let Interval { low, high } = bootstrap(&[0.5]).unwrap();
    assert_eq!(format!("{low} {high}"), "0.5 0.5");
    let values: Vec<f64> = (0..100).map(|it| f64::from(it % 2)).collect();
    let bounds = bootstrap(&values).unwrap();
    assert_eq!(bootstrap(&values), Some(bounds));
    // Half of 100: the binomial distribution has 2.5 % below 41 and above 59 of 100.
    assert!((0.40..=0.41).contains(&bounds.low), "{bounds:?}");
    assert!((0.59..=0.60).contains(&bounds.high), "{bounds:?}");
    // The first and the last value are drawn as often as the others.
    let ends = bootstrap(&[-1.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
    is_near(ends.low + ends.high, 0.0);
}

#[test]
fn accuracy_is_over_judged_cases() {
    let once = accuracy(&[tally(1, 1), tally(0, 1), tally(0, 0), tally(1, 1)]).unwrap();
    is_near(once.mean, 0.6667);
    assert_eq!(Some(once.interval), wilson(2, 3));
    let often = accuracy(&[tally(1, 2), tally(2, 2), tally(0, 1)]).unwrap();
    is_near(often.mean, 0.5);
    assert_eq!(Some(often.interval), bootstrap(&[0.5, 1.0, 0.0]));
    assert_eq!(accuracy(&[tally(0, 0)]), None);
}

/// 2·(1 + 13)/2¹³, 2·(1 + 5)/2⁵, 2/2⁶.
#[test]
fn mcnemar_is_exact() {
    is_near(mcnemar(12, 1), 0.0034);
    is_near(mcnemar(1, 4), 0.375);
    is_near(mcnemar(0, 6), 0.0313);
    is_near(mcnemar(3, 3), 1.0);
    is_near(mcnemar(0, 0), 1.0);
    is_near(mcnemar(1_000, 1_000), 1.0);
    assert!(mcnemar(2_000, 0) < 1e-300);
}

fn side(passes: usize, cost: f64) -> ArmResult {
    ArmResult {
        tally: tally(passes, 1),
        errors: 0,
        cost_usd: Some(cost),
        tokens: 1_000.0 * cost,
        seconds: 1.0,
    }
}

fn pairs(base_only: usize, arm_only: usize, both: usize) -> Vec<ArmPair> {
    let pair = |base, arm| ArmPair {
        base: side(base, 0.014),
        arm: side(arm, 0.010),
    };
    let mut pairs = vec![pair(1, 0); base_only];
    pairs.extend(vec![pair(0, 1); arm_only]);
    pairs.extend(vec![pair(1, 1); both]);
    pairs
}

#[test]
fn an_ablation_helps_hurts_or_cannot_be_told() {
    let mut with_errors = pairs(12, 1, 22);
    with_errors[0].arm.errors = 1;
    with_errors[1].base.tally = tally(0, 0);
    let mut unpriced = pairs(9, 0, 1);
    unpriced[3].arm.cost_usd = None;
    let lines: Vec<String> = [
        pairs(12, 1, 22),
        pairs(0, 9, 11),
        pairs(3, 2, 7),
        pairs(2, 2, 0),
        pairs(1, 0, 0),
        pairs(5, 0, 0),
        pairs(6, 0, 0),
        pairs(0, 5, 15),
        with_errors,
        unpriced,
    ]
    .iter()
    .map(|pairs| compare_arms(pairs).unwrap().to_string())
    .collect();
    assert_snapshot!(lines.join("\n"), @"
    the layer helps: +31 points (95 %: +14…+49), 12 cases better, 1 worse, $0.004 more a question
    the layer hurts: -45 points (95 %: -65…-25), 0 cases better, 9 worse, $0.004 more a question
    cannot be told with 12 cases: about 505 are needed
    cannot be told with 4 cases: no difference was seen
    cannot be told with 1 case: about 6 are needed
    cannot be told with 5 cases: about 6 are needed
    the layer helps: +100 points (95 %: +100…+100), 6 cases better, 0 worse, $0.004 more a question
    cannot be told with 20 cases: about 25 are needed
    the layer helps: +27 points (95 %: +9…+45), 10 cases better, 1 worse, $0.004 more a question; 2 cases with errors left out
    the layer helps: +90 points (95 %: +70…+100), 9 cases better, 0 worse
    ");
    let result = compare_arms(&pairs(12, 1, 22)).unwrap();
    is_near(result.gain, 11.0 / 35.0);
    is_near(result.p_value, 0.0034);
    is_near(result.cost_difference_usd.unwrap(), 0.004);
    is_near(result.cost_per_gain().unwrap(), 0.004 * 35.0 / 11.0);
    is_near(result.token_difference, 4.0);
    // 12 pairs with d = 1/12: s² = (5 − 12/144)/11, and (2.8·s/d)² = 504.6.
    let unclear = compare_arms(&pairs(3, 2, 7)).unwrap();
    assert_eq!(unclear.cases_needed, Some(505));
    assert_eq!(compare_arms(&[]), None);
}

/// Repeats that change no majority prove nothing.
#[test]
fn a_verdict_follows_the_printed_p_value() {
    let pair = |base, arm| {
        let side = |passes| ArmResult {
            tally: tally(passes, 4),
            ..ArmResult::default()
        };
        ArmPair {
            base: side(base),
            arm: side(arm),
        }
    };
    let told = |groups: &[(usize, ArmPair)]| {
        let pairs: Vec<ArmPair> = groups
            .iter()
            .flat_map(|(count, pair)| vec![*pair; *count])
            .collect();
        let result = compare_arms(&pairs).unwrap();
        format!("p = {:.4}: {result}", result.p_value)
    };
    let lines = [
        // Eight cases are better, without a changed majority.
        told(&[(8, pair(2, 0))]),
        // The same with two majorities.
        told(&[(8, pair(2, 0)), (2, pair(4, 0))]),
        // The mean favors the base, the majorities do not.
        told(&[(30, pair(2, 0)), (8, pair(2, 3))]),
        told(&[(8, pair(3, 1))]),
    ];
    assert_snapshot!(lines.join("\n"), @r"
    p = 1.0000: cannot be told with 8 cases: the majorities of the repeats do not show it
    p = 0.5000: cannot be told with 10 cases: about 35 are needed
    p = 0.0078: cannot be told with 38 cases: the majorities of the repeats do not show it
    p = 0.0078: the layer helps: +50 points (95 %: +50…+50), 8 cases better, 0 worse
    ");
}
