//! A sweep as HTML: a table and the curves of each metric.

use super::chapter::{head, section};
use super::markup::{escape, number_cell, plain_number, row, table};
use super::summary::{named, remarks, swatch};
use crate::TOOL;
use crate::sweep::SweepAnalysis;
use crate::sweep::rows::{self, Change};
use crate::view;

/// The sweep.
pub fn html(sweep: &SweepAnalysis) -> String {
    let mut out = String::new();
    head(&mut out, &sweep.title, &rows::facts(sweep));
    let item = |(idx, v)| format!("<li>{}</li>\n", named(idx, v));
    let items: String = sweep.first().variants.iter().enumerate().map(item).collect();
    out += &format!("<ul class=\"variants\">\n{items}</ul>\n");
    let curves = "<div class=\"drawn\" data-draw=\"sweep\"></div>\n";
    let remark = "Means over the seeds; a band is the 95 % interval, a ring a published value.";
    out += &section("Curves", "sweep", remark, curves);
    let tables: String = sweep.metrics.iter().map(|name| metric(sweep, name)).collect();
    out += &section("Results", "results", "", &(tables + &remarks(&rows::remarks(sweep))));
    let hash = escape(&sweep.hash);
    out + &format!(
        "<footer>{TOOL}, scenario {hash}. A timeline is of one point: choose it with \
         <code>--set KEY=VALUE</code>.</footer>\n"
    )
}

fn metric(sweep: &SweepAnalysis, name: &str) -> String {
    let Some(metric) = sweep.metric(name) else {
        return format!("<p>{}: no run measures it.</p>\n", escape(name));
    };
    let mut titles: Vec<String> = sweep.axes.iter().map(|axis| escape(&axis.key)).collect();
    for (idx, variant) in sweep.first().variants.iter().enumerate() {
        let what = if variant.baseline { "mean" } else { "change" };
        titles.push(format!(">{} {what}", swatch(idx)));
    }
    let line = |point: &crate::sweep::SweepPoint| {
        let mut values = sweep.values(point);
        let first = escape(values.next().unwrap_or(""));
        let mut cells: Vec<String> = values.map(plain_number).collect();
        for variant in &point.analysis.variants {
            let own = variant.metric(name).map(|m| m.mean);
            let key = format!("{}/{}/{name}/mean", point.analysis.at, variant.name);
            let shown = match Change::of(variant, name, crate::number::Shown::as_it_is(metric.unit))
            {
                Some((change, _)) => format!("{} {} {}", change.pct, change.half, change.word),
                None => own.map_or("-".into(), |mean| crate::number::number(mean, metric.unit)),
            };
            cells.push(number_cell(&shown, &key, own));
        }
        row(&first, &cells)
    };
    let lines: Vec<String> = sweep.points.iter().map(line).collect();
    let caption =
        format!("<b>{}</b>{}", escape(&view::heading(metric)), escape(view::direction(metric)));
    let published = rows::published(sweep, name);
    table("block", &caption, &titles, &lines) + &remarks(&published)
}
