//! The example draws what its variants and points need.

use crate::sweep::tests::example;

#[test]
fn a_panel_has_a_curve_per_variant_and_a_band() {
    let svg = super::curves_svg(&example()).expect("there are points to draw");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let curves = svg.matches("stroke-width=\"2\" points=").count();
    let bands = svg.matches("opacity=\"0.15\"").count();
    assert!(bands == 2 * 2, "two variants in two panels: {bands} bands, {curves} curves\n{svg}");
    for words in ["jobs", "elapsed [s]", "cpu_pct [%]", "A off", "B on", "hollow: published"] {
        assert!(svg.contains(words), "{words}");
    }
}

#[test]
fn one_point_is_no_curve() {
    let mut sweep = example();
    sweep.points.truncate(1);
    assert!(super::curves_svg(&sweep).is_none());
}
