//! Sets up the guest for a job: mounts file systems, loads modules, makes namespaces and devices,
//! and runs `ip` and `tc` commands.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use super::{adapt, ip, own_qdisc, sys};
use tailback_guest::job::{Batch, Device, HARDWARE_ADDRESS, Job, Tool};

/// The offloads of a device: for each offload, the ethtool command that reads it, the command that
/// sets it, and its name.
const FEATURES: [(u32, u32, &str); 3] = [
    (0x1e, 0x1f, "tso"),
    (0x23, 0x24, "gso"),
    (0x2b, 0x2c, "gro"),
];

pub struct Namespaces {
    files: Vec<File>,
    names: Vec<String>,
}

impl Namespaces {
    pub fn enter(&self, namespace: usize) -> Result<(), String> {
        let file = self.files.get(namespace).ok_or("no such namespace")?;
        sys::enter(file).map_err(|e| format!("namespace {}: {e}", self.names[namespace]))
    }

    pub fn name(&self, namespace: usize) -> &str {
        &self.names[namespace]
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }
}

pub fn file_systems() -> Result<(), String> {
    let mounts = [
        ("proc", "/proc", "proc", ""),
        ("sysfs", "/sys", "sysfs", ""),
        ("tmpfs", "/tmp", "tmpfs", ""),
        ("tmpfs", "/run", "tmpfs", ""),
    ];
    for (source, target, kind, options) in mounts {
        sys::mount(source, target, kind, options).map_err(|e| format!("mount {target}: {e}"))?;
    }
    fs::create_dir_all("/run/netns").map_err(|e| format!("/run/netns: {e}"))?;
    // Let the kernel print its warnings, which the host reports as warnings about the run. Do not
    // set this log level on the kernel's command line, because the kernel's random numbers depend
    // on the command line.
    fs::write("/proc/sys/kernel/printk", "5").map_err(|e| format!("kernel.printk: {e}"))
}

/// Loads modules, makes namespaces and devices, and runs the job's commands.
pub fn network(job: &Job) -> Result<Namespaces, String> {
    for module in &job.modules {
        let file = File::open(&module.path).map_err(|e| format!("{}: {e}", module.path))?;
        match sys::load_module(&file, &module.parameters) {
            Err(e) if e.raw_os_error() != Some(libc::EEXIST) => {
                let parameters = &module.parameters;
                return Err(format!("module {} {parameters}: {e}", module.path));
            }
            _ => {}
        }
    }
    write_sysctls(&job.sysctls)?;
    let namespaces = make_namespaces(job)?;
    make_devices(job, &namespaces)?;
    for (index, namespace) in job.namespaces.iter().enumerate() {
        namespaces.enter(index)?;
        write_sysctls(&namespace.sysctls)
            .map_err(|e| format!("namespace {}: {e}", namespace.name))?;
    }
    for veth in &job.veths {
        for device in [&veth.a, &veth.b] {
            namespaces.enter(device.namespace)?;
            set_features(device, job.offloads)?;
        }
    }
    for batch in &job.setup {
        run_batch(&namespaces, batch)?;
    }
    Ok(namespaces)
}

fn write_sysctls(sysctls: &[(String, String)]) -> Result<(), String> {
    for (path, value) in sysctls {
        fs::write(format!("/proc/sys/{path}"), value)
            .map_err(|e| format!("sysctl {path} = {value}: {e}"))?;
    }
    Ok(())
}

fn make_namespaces(job: &Job) -> Result<Namespaces, String> {
    let mut files = Vec::new();
    for namespace in &job.namespaces {
        let what = |e| format!("namespace {}: {e}", namespace.name);
        sys::new_network().map_err(what)?;
        // `ip` looks up the names of namespaces in the folder /run/netns.
        let path = format!("/run/netns/{}", namespace.name);
        File::create(&path).map_err(what)?;
        sys::bind_mount("/proc/self/ns/net", &path).map_err(what)?;
        files.push(File::open(&path).map_err(what)?);
    }
    Ok(Namespaces {
        files,
        names: job.namespaces.iter().map(|n| n.name.clone()).collect(),
    })
}

/// Makes the pairs of devices. All devices have the same hardware address and no ARP. A device
/// therefore accepts packets from any other device without address resolution.
fn make_devices(job: &Job, namespaces: &Namespaces) -> Result<(), String> {
    let mut requests = ip::Requests::default();
    for veth in &job.veths {
        let place = |device: &'_ Device| &namespaces.files[device.namespace];
        let (a, b) = (&veth.a, &veth.b);
        requests.pair(
            [(&a.name, place(a)), (&b.name, place(b))],
            veth.mtu,
            HARDWARE_ADDRESS,
        );
    }
    requests.run().map_err(|(number, error)| {
        let name = job.veths.get(number).map_or("", |veth| &veth.a.name);
        format!("devices: {name}: {error}")
    })
}

fn set_features(device: &Device, on: bool) -> Result<(), String> {
    for (_, set, name) in FEATURES {
        sys::ethtool(&device.name, set, u32::from(on))
            .map_err(|e| format!("{name} of {}: {e}", device.name))?;
    }
    Ok(())
}

/// Returns the state of a device's offloads, such as `tso off, gso off, gro off`. The device must
/// be in the current namespace.
pub fn features(device: &str) -> String {
    let words = FEATURES.map(|(get, _, name)| match sys::ethtool(device, get, 0) {
        Ok(0) => format!("{name} off"),
        Ok(_) => format!("{name} on"),
        Err(e) => format!("{name}: {e}"),
    });
    words.join(", ")
}

pub fn run_batch(namespaces: &Namespaces, batch: &Batch) -> Result<(), String> {
    namespaces.enter(batch.namespace)?;
    if batch.tool == Tool::Adapt {
        return batch
            .lines
            .iter()
            .try_for_each(|device| adapt::start(device));
    }
    let place = namespaces.name(batch.namespace);
    if batch.tool == Tool::Qdisc {
        return batch.lines.iter().try_for_each(|line| {
            own_qdisc::apply(line).map_err(|error| format!("{place}: {line}: {error}"))
        });
    }
    if batch.tool == Tool::Ip
        && let Some(requests) = ip::Requests::of(&batch.lines)
    {
        return requests.run().map_err(|(number, error)| {
            let line = batch.lines.get(number).map_or("", String::as_str);
            format!("{place}: ip {line}: {error}")
        });
    }
    run_tool(batch.tool, &batch.lines, place)
}

fn program(tool: Tool) -> &'static str {
    match tool {
        Tool::Ip => "/usr/sbin/ip",
        Tool::Tc | Tool::Adapt | Tool::Qdisc => "/usr/sbin/tc",
    }
}

/// Runs commands in the current namespace. An error contains the tool's message about the command
/// that failed.
fn run_tool(tool: Tool, lines: &[String], place: &str) -> Result<(), String> {
    let program = program(tool);
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{program}: {e}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let text = lines.join("\n") + "\n";
        // Ignore the result, because the tool's error output states the reason if the tool stops
        // reading.
        let _ = stdin.write_all(text.as_bytes());
    }
    let output = child
        .wait_with_output()
        .map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let failed = said
        .lines()
        .find_map(|line| line.strip_prefix("Command failed -:"))
        .and_then(|n| n.trim().parse::<usize>().ok())
        .and_then(|n| lines.get(n.checked_sub(1)?));
    let name = program.rsplit('/').next().unwrap_or(program);
    let line = failed.map_or(String::new(), |l| format!(" {l}"));
    let said: Vec<&str> = said
        .lines()
        .filter(|l| !l.starts_with("Command failed"))
        .collect();
    Err(format!("{place}: {name}{line}: {}", said.join("; ")))
}

/// Runs several commands in the current namespace, and returns the tool's output. `words` contains
/// the tool's first arguments.
pub fn batch_output(tool: Tool, words: &[&str], lines: &[String]) -> Result<String, String> {
    let program = program(tool);
    let mut child = Command::new(program)
        .args(words)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{program}: {e}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Ignore the result, because the tool's error output states the reason if the tool stops
        // reading.
        let _ = stdin.write_all((lines.join("\n") + "\n").as_bytes());
    }
    let output = child
        .wait_with_output()
        .map_err(|e| format!("{program}: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

pub fn tool_output(tool: Tool, arguments: &[&str]) -> String {
    let output = Command::new(program(tool)).args(arguments).output();
    match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned(),
        Err(e) => format!("{}: {e}", program(tool)),
    }
}
