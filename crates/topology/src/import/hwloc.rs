//! hwloc's XML, versions 2 and 3, as `lstopo machine.xml` writes it.
//!
//! Read are the objects that hold CPUs (packages, dies, caches, cores, PUs), the NUMA nodes with
//! the CPUs near them, the distance table, and the model's name. Devices, bridges, groups and
//! memory sizes are passed over. The file is read as a stream: nothing is expanded, and memory
//! grows with the machine, not with the text.

mod objects;
mod xml;

use super::Imported;
use super::defaults::{CLOCK_MHZ, Maker, clock_of_model};
use super::found::{Conflict, Distances, Found, FoundCpu};
use super::runs::{CpuRuns, items, number};
use input::Fault;
use objects::Objects;
use std::ops::Range;
use xml::{Element, Step, Xml};

/// Makes a machine from the text of an XML file.
///
/// # Errors
/// The first fault of the text.
pub fn hwloc(name: &str, text: &str) -> Result<Imported, Vec<Fault>> {
    let read = read(text).map_err(|fault| vec![fault])?;
    let places = read.objects.places();
    read.found().machine(name).map_err(|Conflict { cpu, message }| {
        let span = places.iter().find(|(os, _)| *os == cpu).map(|(_, span)| span.clone());
        vec![Fault { span, ..Fault::whole(message) }]
    })
}

/// What the document says.
#[derive(Default)]
struct Document {
    objects: Objects,
    vendor: String,
    family: u32,
    model: Option<String>,
    distances: Option<Distances>,
}

/// A distance table of any kind, while it is read.
#[derive(Default)]
struct Table {
    is_latency: bool,
    span: Range<usize>,
    nodes: Vec<u32>,
    values: Vec<u32>,
}

fn read(text: &str) -> Result<Document, Fault> {
    let mut xml = Xml::new(text);
    let mut document = Document::default();
    let mut table: Option<Table> = None;
    loop {
        match xml.next()? {
            Step::Open(element) => document.open(&element, &mut table)?,
            Step::Text { within, text, span } => {
                if let Some(table) = &mut table {
                    table.text(within, text, span.start)?;
                }
            }
            Step::Close { name: "object" } => document.objects.close(),
            Step::Close { name: "distances2" } => document.table(table.take())?,
            Step::Close { .. } => {}
            Step::End => break,
        }
    }
    if document.objects.pus.is_empty() {
        let fault = Fault::whole("there is no PU in it");
        return Err(fault.help("`lstopo machine.xml` writes the XML of a machine"));
    }
    Ok(document)
}

impl Document {
    fn open(&mut self, element: &Element<'_>, table: &mut Option<Table>) -> Result<(), Fault> {
        match element.name {
            "topology" => check_version(element),
            "object" => self.objects.open(element),
            "info" => {
                self.info(element);
                Ok(())
            }
            "distances2" => {
                let is_latency = element.attribute("type").is_some_and(|a| a.is("NUMANode"))
                    && element.attribute("name").is_none_or(|a| a.is("NUMALatency"));
                *table = Some(Table { is_latency, span: element.span.clone(), ..Table::default() });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn info(&mut self, element: &Element<'_>) {
        let (Some(name), Some(value)) = (element.attribute("name"), element.attribute("value"))
        else {
            return;
        };
        match name.value() {
            "CPUVendor" => self.vendor = value.value().to_owned(),
            "CPUFamilyNumber" => self.family = value.value().parse().unwrap_or(0),
            "CPUModel" if self.model.is_none() => {
                self.model = Some(value.unescaped().trim().to_owned()).filter(|m| !m.is_empty());
            }
            _ => {}
        }
    }

    /// Keeps the first table of NUMA latencies.
    fn table(&mut self, table: Option<Table>) -> Result<(), Fault> {
        let Some(Table { nodes, values, span, .. }) = table.filter(|t| t.is_latency) else {
            return Ok(());
        };
        if values.len() != nodes.len() * nodes.len() {
            let message = format!("{} distances for {} nodes", values.len(), nodes.len());
            return Err(Fault::at(span, message));
        }
        self.distances.get_or_insert(Distances { nodes, table: values });
        Ok(())
    }

    fn found(self) -> Found {
        let objects = self.objects;
        let mut found = Found {
            what: "hwloc XML",
            maker: Maker::new(&self.vendor, self.family),
            l1d_kib: objects.l1d_kib,
            l2_kib: objects.l2_kib,
            llc_kib: objects.llc_kib(),
            distances: self.distances,
            remarks: objects.remarks(),
            ..Found::default()
        };
        let clock = self.model.as_deref().and_then(clock_of_model);
        let clock = clock.and_then(|mhz| u32::try_from(mhz).ok());
        let clock = clock.filter(|mhz| CLOCK_MHZ.contains(mhz));
        found.clock = clock.map(|mhz| (mhz, "the base clock in the model's name"));
        found.model = self.model;
        let has_llcs = objects.pus.iter().all(|pu| pu.llc.is_some());
        found.cpus = objects
            .pus
            .iter()
            .map(|pu| FoundCpu {
                os: pu.os,
                core: pu.core,
                llc: pu.llc.map(|(id, _)| id).filter(|_| has_llcs),
                die: pu.die,
                node: objects.node_of(pu.os),
                socket: pu.package,
            })
            .collect();
        found
    }
}

impl Table {
    fn text(&mut self, within: &str, text: &str, start: usize) -> Result<(), Fault> {
        let into = match within {
            "indexes" => &mut self.nodes,
            "u64values" => &mut self.values,
            _ => return Ok(()),
        };
        // Tables of bandwidths or devices have numbers too large for `number`: passed over.
        if !self.is_latency {
            return Ok(());
        }
        let words = items(text, ' ').into_iter().flat_map(|(at, word)| {
            items(word, '\n').into_iter().map(move |(inner, word)| (at + inner, word))
        });
        for (at, word) in words.filter(|(_, word)| !word.is_empty()) {
            into.push(number(word, &(start + at..start + at + word.len()))?);
        }
        Ok(())
    }
}

fn check_version(topology: &Element<'_>) -> Result<(), Fault> {
    let version = topology.attribute("version");
    let major = version.as_ref().and_then(|v| v.value().split('.').next()).unwrap_or("1");
    if matches!(major, "2" | "3") {
        return Ok(());
    }
    let message = format!("XML of hwloc {major}, which is not known; 2 and 3 are");
    let span = version.map_or(topology.span.clone(), |v| v.span());
    Err(Fault::at(span, message).help("write it again with hwloc 2: `lstopo machine.xml`"))
}

/// The CPUs of a `cpuset` attribute.
fn cpuset(element: &Element<'_>, name: &str) -> Result<Option<CpuRuns>, Fault> {
    let Some(attribute) = element.attribute(name) else {
        return Ok(None);
    };
    let start = attribute.span().start;
    let shifted =
        |fault: Fault| Fault { span: fault.span.map(|s| start + s.start..start + s.end), ..fault };
    CpuRuns::parse_mask(attribute.value()).map(Some).map_err(shifted)
}
