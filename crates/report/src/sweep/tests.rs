//! A small sweep through all formats.

use super::*;
use expect_test::expect;
use scenario::{MockExecutor, Silent};

/// A sweep of four points, one of them with published rows.
pub(super) fn example() -> SweepAnalysis {
    analyzed(
        r#"
        [sweep]
        jobs = [1, 2, 4, 8]
        relative_to = "jobs=1"
        [[published]]
        variant = "off"
        metric = "elapsed"
        value = 300
        source = "here"
        at = { jobs = 4 }
        [[published]]
        variant = "on"
        metric = "elapsed"
        value = 298.5
        source = "here"
        at = { jobs = 4 }
        "#,
    )
}

fn analyzed(rest: &str) -> SweepAnalysis {
    let text = format!(
        r#"
        title = "A sweep"
        policy = "cfs"
        workload = {{ kind = "kernel-build", work_seconds = 10 }}
        run = {{ seeds = 3 }}
        variant = [{{ name = "off" }}, {{ name = "on" }}]
        [machine]
        llcs_per_socket = 2
        cores_per_llc = 8
        latency = {{ llc_ns = 25, node_ns = 110 }}
        caches = {{ l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }}
        {rest}
        "#
    );
    let study = scenario::load_study_str("sweep.toml".as_ref(), text, &[])
        .unwrap_or_else(|faults| panic!("{}", faults.render(false)));
    let results = study.run(&MockExecutor, 2, &Silent).unwrap();
    let results = results.into_iter().map(Ok::<_, std::convert::Infallible>);
    SweepAnalysis::try_new(&study, results, &[]).expect("nothing fails")
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_table_has_a_row_per_point() {
    expect![[r#"
        A sweep
        machine sweep, 16 CPUs in 2 LLCs   workload kernel-build   policy cfs 6.4   seeds 1-3
         A off  baseline
         B on

        elapsed [s], lower is better: mean of A, then changes from it
         jobs         A    share  B on
            1    302.09    x1.00   -0.16% ±0.19  same
            2    302.13    x1.00   -0.51% ±0.19  better
            4    300.54   x0.995   +0.09% ±0.19  same
            8    302.10    x1.00   -0.03% ±0.19  same
         geometric mean            -0.15% ±0.19  same
           published at jobs=4, off: 300.00 s; simulated 300.54 s
           published at jobs=4, on: 298.50 s -0.50%; simulated 300.81 s, differs

        cpu_pct [%]: mean of A, then changes from it
         jobs         A    share  B on
            1    301.51    x1.00   +0.26% ±0.28  same
            2    300.31   x0.996   +0.01% ±0.28  same
            4    301.52    x1.00   -0.40% ±0.28  lower
            8    299.80   x0.994   +0.20% ±0.28  same
         geometric mean            +0.02% ±0.28  same

        agrees (0 of 1): same direction or both under 0.15 %, and within 1 point or 1/4 of the change.
        ±: half the 95 % interval over seeds, in points; same: it contains zero.
        Other tables: --metric NAME.
        schedlab 0.1.0, scenario 0488f3bcd8367137. All 50 metrics of every run: --format json or csv.
    "#]].assert_eq(&plain(&text(&example(), crate::COLUMNS_MIN)));
}

#[test]
fn markdown_has_the_same_rows() {
    expect![[r#"
        ## A sweep

        machine: sweep, 16 CPUs in 2 LLCs; workload: kernel-build; policy: cfs 6.4; seeds: 1-3

        **elapsed [s], lower is better**

        | jobs | off | share | on |
        | ---: | ---: | ---: | ---: |
        | 1 | 302.09 | x1.00 | -0.16% ±0.19 same |
        | 2 | 302.13 | x1.00 | -0.51% ±0.19 better |
        | 4 | 300.54 | x0.995 | +0.09% ±0.19 same |
        | 8 | 302.10 | x1.00 | -0.03% ±0.19 same |
        | geometric mean | | | -0.15% ±0.19 same |

        - published at jobs=4, off: 300.00 s; simulated 300.54 s
        - published at jobs=4, on: 298.50 s -0.50%; simulated 300.81 s, differs

        **cpu_pct [%]**

        | jobs | off | share | on |
        | ---: | ---: | ---: | ---: |
        | 1 | 301.51 | x1.00 | +0.26% ±0.28 same |
        | 2 | 300.31 | x0.996 | +0.01% ±0.28 same |
        | 4 | 301.52 | x1.00 | -0.40% ±0.28 lower |
        | 8 | 299.80 | x0.994 | +0.20% ±0.28 same |
        | geometric mean | | | +0.02% ±0.28 same |

        agrees (0 of 1): same direction or both under 0.15 %, and within 1 point or 1/4 of the change.  
        ±: half the 95 % interval over seeds, in points; same: it contains zero.  
        schedlab 0.1.0, scenario `0488f3bcd8367137`
    "#]].assert_eq(&markdown(&example()));
}

#[test]
fn a_point_is_in_json_as_a_single_experiment_is() {
    let sweep = example();
    let value: serde_json::Value = serde_json::from_str(&json(&sweep)).unwrap();
    assert_eq!(value["axes"][0]["key"], "jobs");
    assert_eq!(value["axes"][0]["values"], serde_json::json!([1, 2, 4, 8]));
    let point = &value["points"][2];
    assert_eq!(point["at"], serde_json::json!([4]));
    assert_eq!(point["relative_to"], 0);
    let single: serde_json::Value =
        serde_json::from_str(&crate::json(&sweep.points[2].analysis)).unwrap();
    assert_eq!(point["result"], single);
    let published = |idx: usize| value["points"][idx]["result"]["variants"][1]["published"].clone();
    assert_eq!(published(2).as_array().map(Vec::len), Some(1));
    assert_eq!(published(1).as_array().map(Vec::len), Some(0));
}

#[test]
fn the_geometric_mean_is_that_of_the_ratios() {
    let sweep = example();
    let metric = sweep.metric("elapsed").unwrap();
    let ratio = |point: &SweepPoint| {
        let mean_log = |of: usize| {
            let values = &point.analysis.variants[of].metric("elapsed").unwrap().values;
            values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64
        };
        mean_log(1) - mean_log(0)
    };
    let logs: f64 = sweep.points.iter().map(ratio).sum::<f64>() / 4.0;
    let change = rows::geometric_mean(&sweep, 1, metric).unwrap();
    assert_eq!(change.pct, crate::number::percent(logs.exp_m1() * 100.0));
}
