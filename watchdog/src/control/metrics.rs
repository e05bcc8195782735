//! `/metrics`: the numbers of all slots in the forms that Prometheus reads.
//!
//! Nothing is registered beforehand: each scrape reads the slots that there are, so that a server that was added or removed
//! is there or gone at once. The table of the families is in [`families`], the rules of the two forms are those of
//! `prometheus-client`.

mod families;
mod process;

use std::fmt;
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, MetricEncoder, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit};

use crate::core::slot::SlotSnapshot;
use crate::engine::meter::{Histogram, Meter};
use crate::engine::{Handle, SlotHandle};

/// What the names of our own families begin with.
const PREFIX: &str = "mcp_watchdog";
/// The media type of OpenMetrics 1.0.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The numbers of this moment, in the form that the `Accept` header of the scrape asks for: its content type, and the text.
#[must_use]
pub fn render(handle: &Handle, accept: Option<&str>) -> (&'static str, String) {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(process::Process { started: handle.info().started }));
    let slots = Slots(handle.clone());
    registry.sub_registry_with_prefix(PREFIX).register_collector(Box::new(slots));
    let mut written = String::new();
    let openmetrics = accept.is_some_and(wants_openmetrics);
    let result = match openmetrics {
        true => text::encode(&mut written, &registry),
        false => prometheus_text::encode(&mut written, &registry),
    };
    // Writing into a string does not fail.
    debug_assert!(result.is_ok());
    (if openmetrics { OPENMETRICS } else { prometheus_text::CONTENT_TYPE }, written)
}

/// Whether OpenMetrics is asked for by name, and not less than plain text (RFC 9110, section 12.5.1).
fn wants_openmetrics(accept: &str) -> bool {
    let weight = |media: &str| {
        let ranges = accept.split(',').filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            parts.next().filter(|name| name.eq_ignore_ascii_case(media))?;
            let q = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            Some(q.map_or(1.0, |q| q.parse::<f64>().unwrap_or(0.0)))
        });
        ranges.fold(0.0, f64::max)
    };
    let openmetrics = weight("application/openmetrics-text");
    openmetrics > 0.0 && openmetrics >= weight("text/plain")
}

/// What a sample says beside the server's name.
type Labels<'a> = &'a [(&'static str, &'a str)];

/// One value.
enum Sample<'a> {
    Count(u64),
    Seconds(f64),
    Histogram(&'a Histogram),
}

/// A slot at the moment of the scrape.
struct View {
    name: String,
    slot: SlotSnapshot,
    slot_handle: SlotHandle,
    now: Instant,
}

impl View {
    fn meter(&self) -> &Meter {
        &self.slot_handle.meter
    }
}

/// Samples with the same name.
struct Family {
    /// Without the prefix, the unit, and what the kind adds.
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    kind: MetricType,
    /// Gives away the samples of one slot.
    samples: Samples,
}

type Samples = fn(&View, &mut dyn FnMut(Labels<'_>, Sample<'_>));

/// All slots.
struct Slots(Handle);

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slots")
    }
}

impl Collector for Slots {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let version = [("version", self.0.info().version), ("rustc", env!("RUSTC_VERSION"))];
        encoder
            .encode_descriptor("build", "What this program was built from and with.", None, MetricType::Info)?
            .encode_info(&version)?;
        let help = "Events that a sink could not take in time, or could not write.";
        let mut dropped = encoder.encode_descriptor("events_dropped", help, None, MetricType::Counter)?;
        counter(&mut dropped.encode_family(&[("sink", "file")])?, self.0.events().dropped())?;
        let now = Instant::now();
        let views: Vec<_> = self.0.slots().iter().map(|slot| view(slot, now)).collect();
        families::ALL.iter().try_for_each(|family| family.encode(&mut encoder, &views))
    }
}

fn view(slot: &SlotHandle, now: Instant) -> View {
    let published = slot.published.borrow().slot.clone();
    View { name: slot.name.to_string(), slot: published, slot_handle: slot.clone(), now }
}

impl Family {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>, views: &[View]) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(self.name, self.help, self.unit.as_ref(), self.kind)?;
        let mut result = Ok(());
        for view in views {
            (self.samples)(view, &mut |labels, sample| {
                let server = [("server", view.name.as_str())];
                let labels: Vec<_> = server.iter().chain(labels).copied().collect();
                let written = metric.encode_family(&labels).and_then(|mut metric| self.write(&mut metric, &sample));
                result = result.and(written);
            });
        }
        result
    }

    fn write(&self, metric: &mut MetricEncoder<'_>, sample: &Sample<'_>) -> fmt::Result {
        match sample {
            Sample::Count(value) if matches!(self.kind, MetricType::Counter) => counter(metric, *value),
            Sample::Seconds(value) if matches!(self.kind, MetricType::Counter) => counter(metric, *value),
            Sample::Count(value) => gauge(metric, *value),
            Sample::Seconds(value) => gauge(metric, *value),
            Sample::Histogram(histogram) => {
                // Counted from what is shown: another thread may go on counting meanwhile.
                let buckets = histogram.buckets();
                let count = buckets.iter().map(|(_, count)| count).sum();
                metric.encode_histogram(histogram.seconds(), count, &buckets, NO_EXEMPLARS)
            }
        }
    }
}

type Exemplars<'a> = Option<&'a std::collections::HashMap<usize, Exemplar<Vec<(String, String)>, f64>>>;
const NO_EXEMPLARS: Exemplars<'static> = None;

fn counter(metric: &mut MetricEncoder<'_>, value: impl prometheus_client::encoding::EncodeCounterValue) -> fmt::Result {
    metric.encode_counter(&value, None::<&Exemplar<Vec<(String, String)>, f64>>)
}

fn gauge(metric: &mut MetricEncoder<'_>, value: impl EncodeGaugeValue) -> fmt::Result {
    metric.encode_gauge(&value)
}

#[cfg(test)]
mod tests;
