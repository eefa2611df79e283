//! hwloc's XML: a small machine, and what can be wrong with it.

use super::shown;
use expect_test::{Expect, expect};
use topology::import;

/// Two packages of two cores; the second package's core has one thread. Numbers have gaps.
const SMALL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000001f" complete_cpuset="0x0000009f" gp_index="1">
    <info name="Backend" value="Linux"/>
    <object type="Package" os_index="0" cpuset="0x0000000f" gp_index="2">
      <info name="CPUVendor" value="GenuineIntel"/>
      <info name="CPUModel" value="Xeon &amp; Co @ 2.50GHz"/>
      <object type="NUMANode" os_index="1" cpuset="0x0000000f" nodeset="0x2" local_memory="1"/>
      <object type="L3Cache" cpuset="0x0000000f" cache_size="16777216" depth="3" cache_type="0">
        <object type="L2Cache" cpuset="0x5" cache_size="1048576" depth="2" cache_type="0">
          <object type="L1Cache" cpuset="0x5" cache_size="49152" depth="1" cache_type="1">
            <object type="L1iCache" cpuset="0x5" cache_size="32768" depth="1" cache_type="2">
              <object type="Core" os_index="0" cpuset="0x5">
                <object type="PU" os_index="0" cpuset="0x1"/>
                <object type="PU" os_index="2" cpuset="0x4"/>
              </object>
            </object>
          </object>
        </object>
        <object type="L2Cache" cpuset="0xa" cache_size="1048576" depth="2" cache_type="0">
          <object type="Core" os_index="1" cpuset="0xa">
            <object type="PU" os_index="1" cpuset="0x2"/>
            <object type="PU" os_index="3" cpuset="0x8"/>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x00000010" gp_index="3">
      <object type="NUMANode" os_index="0" cpuset="0x00000010" nodeset="0x1" local_memory="1"/>
      <object type="NUMANode" os_index="4" cpuset="0x00000010" nodeset="0x10" local_memory="1"/>
      <object type="L3Cache" cpuset="0x00000010" cache_size="16777216" depth="3" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000010">
          <object type="PU" os_index="4" cpuset="0x00000010"/>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="3" kind="5" name="NUMALatency" indexing="os">
    <indexes length="6">0 1 4 </indexes>
    <u64values length="18">10 21 17 21
    10 28 17 28 10 </u64values>
  </distances2>
  <distances2 type="OSDev" nbobjs="1" kind="9" name="XGMIBandwidth" indexing="gp">
    <indexes length="4">701 </indexes>
    <u64values length="8">1000000 </u64values>
  </distances2>
</topology>
"#;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown(text, import::hwloc("test", text)));
}

fn check_edit(from: &str, to: &str, expected: Expect) {
    assert!(SMALL.contains(from), "{from}");
    check(&SMALL.replacen(from, to, 1), expected);
}

#[test]
fn a_machine_is_what_the_objects_say() {
    check(
        SMALL,
        expect![[r#"
            5 CPUs, 3 cores, 2 LLCs, 2 nodes, 2 sockets
            CPUs 7 are offline or not allowed and left out
            nodes without CPUs of their own are left out: 4"#]],
    );
    let machine = import::hwloc("test", SMALL).expect("the text is valid").machine;
    assert_eq!(machine.title, "2 x Xeon & Co @ 2.50GHz");
    assert_eq!(machine.cores[0].to_string(), "0,2");
    // Nodes keep the order of their numbers.
    assert_eq!(machine.nodes[1].to_string(), "0-3");
    assert_eq!(machine.numa_distance, [10, 21, 21, 10]);
    assert_eq!((machine.clock_mhz, machine.caches.l1d_kib), (2500, 48));
    assert_eq!((machine.caches.l2_kib, machine.caches.l3_kib), (1024, 16384));
}

#[test]
fn version_3_is_the_same_and_others_are_refused() {
    let third = SMALL.replace("version=\"2.0\"", "version=\"3.0\"");
    assert!(shown(&third, import::hwloc("test", &third)).starts_with("5 CPUs"));
    check_edit(
        "<topology version=\"2.0\">",
        "<topology>",
        expect![
            "3 | <topology> | XML of hwloc 1, which is not known; 2 and 3 are | write it again with hwloc 2: `lstopo machine.xml`"
        ],
    );
    check_edit(
        "version=\"2.0\"",
        "version=\"4.1\"",
        expect![
            "3 | 4.1 | XML of hwloc 4, which is not known; 2 and 3 are | write it again with hwloc 2: `lstopo machine.xml`"
        ],
    );
}

#[test]
fn faults_have_places() {
    check_edit("os_index=\"2\"", "os_index=\"two\"", expect!["16 | two | `two` is no number | -"]);
    check_edit(
        "<object type=\"PU\" os_index=\"2\"",
        "<object type=\"PU\"",
        expect![[r#"16 | <object type="PU" cpuset="0x4"/> | an object without os_index | -"#]],
    );
    check_edit(
        "os_index=\"2\"",
        "os_index=\"0\"",
        expect![[r#"16 | <object type="PU" os_index="0" cpuset="0 | PU 0 is there twice | -"#]],
    );
    check_edit(
        "cpuset=\"0x0000000f\" nodeset",
        "cpuset=\"0x0000000g\" nodeset",
        expect!["9 | 0x0000000g | `0x0000000g` is no mask of 32 CPUs | -"],
    );
    check_edit(
        "cache_size=\"16777216\"",
        "cache_size=\"16M\"",
        expect!["10 | 16M | `16M` is no size in bytes | -"],
    );
    check_edit("10 28 17", "10 -28 17", expect!["42 | -28 | `-28` is no number | -"]);
    check_edit(
        "10 28 17",
        "10 28",
        expect![[r#"39 | <distances2 type="NUMANode" nbobjs="3" k | 8 distances for 3 nodes | -"#]],
    );
    check_edit(
        "<object type=\"Package\" os_index=\"0\"",
        "<object os_index=\"0\"",
        expect![[r#"6 | <object os_index="0" cpuset="0x0000000f" | an object without a type | -"#]],
    );
}

#[test]
fn broken_and_cut_off_texts_are_refused() {
    check_edit(
        "</topology>",
        "",
        expect!["49 |  | the file is cut off: <topology> of line 3 is still open | -"],
    );
    check_edit(
        "</distances2>",
        "</distances>",
        expect!["43 |  | broken XML: expected `</distances2>`, but `</distances>` was found | -"],
    );
    check_edit(
        "nbobjs=\"3\"",
        "nbobjs=3",
        expect![[
            r#"39 |  type="NUMANode" nbobjs=3 kind="5" name= | broken attributes: attribute value must be enclosed in `"` or `'` | -"#
        ]],
    );
    check("", expect!["this is no XML | hwloc writes XML with `lstopo machine.xml`"]);
    check(
        "cpu,core\n0,0\n",
        expect!["this is no XML | hwloc writes XML with `lstopo machine.xml`"],
    );
    check(
        "<html></html>",
        expect!["1 | <html> | <html> is the first element; hwloc's XML begins with <topology> | -"],
    );
    check(
        "<topology version='2.0'/>",
        expect!["there is no PU in it | `lstopo machine.xml` writes the XML of a machine"],
    );
    check(
        "<topology version='2.0'><object type='PU' os",
        expect![
            "1 |  | the file is cut off or broken: tag not closed: `>` not found before end of input | -"
        ],
    );
}

#[test]
fn bombs_do_not_go_off() {
    let mut bomb = String::from("<!DOCTYPE topology [\n<!ENTITY a0 \"aaaaaaaaaa\">\n");
    for i in 1..20 {
        let inner = format!("&a{};", i - 1).repeat(10);
        bomb += &format!("<!ENTITY a{i} \"{inner}\">\n");
    }
    bomb += "]>\n<topology version=\"2.0\"><info name=\"CPUModel\" value=\"&a19;\"/></topology>";
    check(
        &bomb,
        expect!["2 | <!ENTITY | entities are not part of hwloc's XML and are not expanded | -"],
    );
    let reference = SMALL.replace("&amp; Co", "&a19;");
    let machine = import::hwloc("test", &reference).expect("the text is valid").machine;
    assert_eq!(machine.title, "2 x Xeon &a19; @ 2.50GHz");
    let deep = format!("<topology version='2.0'>{}", "<object type='Group'>".repeat(100_000));
    check(&deep, expect!["1 | < | elements are nested more than 100 deep | -"]);
    let attributes: String = (0..100_000).map(|i| format!("a{i}='' ")).collect();
    let wide = SMALL
        .replace("<object type=\"Machine\"", &format!("<object {attributes} type=\"Machine\""));
    assert!(shown(&wide, import::hwloc("test", &wide)).starts_with("5 CPUs"));
    let many = "<object type='NUMANode' os_index='1' cpuset='0x1'/>".repeat(2000);
    let many = format!("<topology version='2.0'>{many}</topology>");
    check(
        &many,
        expect!["1 | <object type='NUMANode' os_index='1' cpu | more than 1024 NUMA nodes | -"],
    );
}

#[test]
fn every_beginning_of_a_text_is_cut_off() {
    for end in (0..SMALL.len() - 12).filter(|end| SMALL.is_char_boundary(*end)) {
        let text = &SMALL[..end];
        let faults = import::hwloc("test", text).expect_err("the end is missing");
        let span = faults[0].span.clone().unwrap_or(0..0);
        assert!(text.get(span).is_some(), "{end}");
    }
}
