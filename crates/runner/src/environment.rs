//! Describes the load generator, as needed to repeat the run.

use std::collections::BTreeMap;

use procfs::{Current, FromBufRead};

use crate::telemetry;

/// System, processor, cores, memory. Nothing that identifies the user or the machine.
pub(crate) fn describe() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut note = |name: &str, value: String| {
        facts.insert(name.to_owned(), value);
    };
    let system = rustix::system::uname();
    note("system", system.sysname().to_string_lossy().into_owned());
    note("kernel", system.release().to_string_lossy().into_owned());
    note("architecture", system.machine().to_string_lossy().into_owned());
    note("cores", telemetry::cores().to_string());
    if let Ok(memory) = procfs::Meminfo::current() {
        note("memory_bytes", memory.mem_total.to_string());
    }
    if let Some(model) = processor() {
        note("processor", model);
    }
    facts
}

/// Processor and cores: distinguishes one user's load generators.
pub(crate) fn machine() -> String {
    let processor = processor().unwrap_or_else(|| "unknown processor".to_owned());
    format!("{processor}, {} cores", telemetry::cores())
}

fn processor() -> Option<String> {
    let text = std::fs::read("/proc/cpuinfo").ok()?;
    let info = procfs::CpuInfo::from_buf_read(text.as_slice()).ok()?;
    info.model_name(0).map(str::to_owned)
}
