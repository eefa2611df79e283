//! Which point is the best one, and which are better than each other one in something.

use super::{Found, metrics};
use scenario::{Sign, Tune};

/// The means of a point, turned so that more is better in each: goals, then metrics of limits.
fn merits(tune: &Tune, found: &Found) -> Vec<f64> {
    let limited = |name: &String| {
        let limit = tune.limits.iter().find(|limit| limit.metric == *name);
        limit.is_some_and(|limit| matches!(limit.sign, Sign::Greater | Sign::AtLeast))
    };
    let wants_more = |(place, name): (usize, &String)| match tune.goals.get(place) {
        Some(goal) => goal.maximize,
        None => limited(name),
    };
    let names = metrics(tune);
    let merit = |(place, name): (usize, &String)| match wants_more((place, name)) {
        true => found.mean(place),
        false => -found.mean(place),
    };
    names.iter().enumerate().map(merit).collect()
}

/// True if the first is as good as the second in all, and better in something.
fn dominates(own: &[f64], other: &[f64]) -> bool {
    own.iter().zip(other).all(|(own, other)| own >= other) && own != other
}

/// The best point by the first goal that keeps the limits; of equals, by the further goals, then
/// the one that was asked for first.
pub fn best(tune: &Tune, found: &[Option<&Found>]) -> Option<usize> {
    let n_goals = tune.goals.len();
    let mut best: Option<(usize, Vec<f64>)> = None;
    for (idx, found) in found.iter().enumerate() {
        let Some(found) = found.filter(|found| found.keeps) else {
            continue;
        };
        let merits = merits(tune, found)[..n_goals].to_vec();
        if best
            .as_ref()
            .is_none_or(|(_, known)| merits.partial_cmp(known).is_some_and(|o| o.is_gt()))
        {
            best = Some((idx, merits));
        }
    }
    best.map(|(idx, _)| idx)
}

/// Points that no other one dominates, the best by the first goal first; of equals, the first.
pub fn front(tune: &Tune, found: &[Option<&Found>]) -> Vec<usize> {
    let merits: Vec<Option<Vec<f64>>> =
        found.iter().map(|found| found.map(|found| merits(tune, found))).collect();
    let is_beaten = |idx: usize, own: &Vec<f64>| {
        let others = merits.iter().enumerate().filter_map(|(i, m)| Some((i, m.as_ref()?)));
        let mut others = others.filter(|(i, _)| *i != idx);
        others.any(|(i, other)| dominates(other, own) || (i < idx && other == own))
    };
    let own = |idx: usize| merits[idx].as_ref();
    let mut front: Vec<usize> =
        (0..merits.len()).filter(|idx| own(*idx).is_some_and(|m| !is_beaten(*idx, m))).collect();
    let first = |idx: &usize| own(*idx).map_or(f64::NEG_INFINITY, |merits| merits[0]);
    front.sort_by(|a, b| first(b).total_cmp(&first(a)).then(a.cmp(b)));
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::tune::Goal;

    fn tune(goals: &[(&str, bool)]) -> Tune {
        let goal = |(metric, maximize): &(&str, bool)| Goal {
            metric: metric.to_string(),
            maximize: *maximize,
        };
        let text = r#"
            policy = "cfs"
            workload = { kind = "mm-c", service_ns = 1000, rate = 1000 }
            run = { until = "1ms" }
            machine = "pack:1 l3:1 core:2 pu:1"
            variant = [{ name = "a" }]
            tune = { maximize = "cpu_pct", while = ["wakeup_latency_p99 < 5 us"], rate = [1, 2] }
        "#;
        let study = scenario::load_study_str(std::path::Path::new("t.toml"), text.into(), &[]);
        let mut tune = study.unwrap_or_else(|f| panic!("{}", f.render(false))).tune.unwrap();
        tune.goals = goals.iter().map(goal).collect();
        tune
    }

    fn points(means: &[(f64, f64)]) -> Vec<Found> {
        let found =
            |(a, b): &(f64, f64)| Found { values: vec![vec![*a], vec![*b]], keeps: *b < 5.0 };
        means.iter().map(found).collect()
    }

    fn both(tune: &Tune, means: &[(f64, f64)]) -> (Option<usize>, Vec<usize>) {
        let found = points(means);
        let found: Vec<Option<&Found>> = found.iter().map(Some).collect();
        (best(tune, &found), front(tune, &found))
    }

    #[test]
    fn the_best_keeps_the_limit_and_the_front_shows_what_it_costs() {
        let one = tune(&[("cpu_pct", true)]);
        let means = [(1.0, 1.0), (3.0, 4.0), (2.0, 4.5), (9.0, 6.0), (3.0, 4.0)];
        assert_eq!(both(&one, &means), (Some(1), vec![3, 1, 0]));
        assert_eq!(both(&one, &[(1.0, 9.0)]), (None, vec![0]));
    }

    #[test]
    fn with_two_goals_the_first_decides_and_the_second_breaks_ties() {
        let two = tune(&[("cpu_pct", false), ("wakeup_latency_p99", false)]);
        let means = [(2.0, 1.0), (1.0, 4.0), (1.0, 3.0), (3.0, 3.0)];
        assert_eq!(both(&two, &means), (Some(2), vec![2, 0]));
    }

    /// The slow and obvious model: a point is on the front if it beats each other one somewhere.
    #[test]
    fn the_front_is_what_the_definition_says() {
        let one = tune(&[("cpu_pct", true)]);
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 60) as f64
        };
        for _ in 0..200 {
            let means: Vec<(f64, f64)> = (0..12).map(|_| (next(), next())).collect();
            let (_, front) = both(&one, &means);
            for (idx, (a, b)) in means.iter().enumerate() {
                let beats = |(i, (c, d)): (usize, &(f64, f64))| {
                    i == idx || a > c || b < d || ((a, b) == (c, d) && idx < i)
                };
                let on_front = means.iter().enumerate().all(beats);
                assert_eq!(front.contains(&idx), on_front, "{means:?}: {idx}");
            }
        }
    }
}
