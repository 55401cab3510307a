//! Formats a job as text, for a person to read and for tests to compare. The text shows the
//! commands of each namespace.

use std::fmt;

use crate::job::{Batch, Job, Program, Ready, Tool};

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |namespace: usize| match self.namespaces.get(namespace) {
            Some(found) => found.name.as_str(),
            None => "?",
        };
        for module in &self.modules {
            let line = format!("insmod {} {}", module.path, module.parameters);
            writeln!(f, "{}", line.trim_end())?;
        }
        for (path, value) in &self.sysctls {
            writeln!(f, "sysctl {path} = {value}")?;
        }
        for veth in &self.veths {
            writeln!(
                f,
                "veth {}.{} {}.{} mtu {}",
                name(veth.a.namespace),
                veth.a.name,
                name(veth.b.namespace),
                veth.b.name,
                veth.mtu
            )?;
        }
        if !self.offloads {
            writeln!(f, "no TSO, GSO, GRO on any device")?;
        }
        for (i, namespace) in self.namespaces.iter().enumerate() {
            let setup: Vec<&Batch> = self.setup.iter().filter(|b| b.namespace == i).collect();
            if namespace.sysctls.is_empty() && setup.is_empty() {
                continue;
            }
            writeln!(f, "\n[{}]", namespace.name)?;
            for (path, value) in &namespace.sysctls {
                writeln!(f, "sysctl {path} = {value}")?;
            }
            for batch in setup {
                lines(f, batch, "")?;
            }
        }
        if !self.changes.is_empty() {
            writeln!(f, "\n[changes]")?;
        }
        for change in &self.changes {
            let at = change.at_ns as f64 / 1e9;
            let prefix = format!("{at} s {}: ", name(change.batch.namespace));
            lines(f, &change.batch, &prefix)?;
        }
        writeln!(f, "\n[flows]")?;
        for flow in &self.flows {
            write!(
                f,
                "{}: {} from {} {} to {} {} port {}, starts at {} s",
                flow.name,
                flow.kernel_cc,
                name(flow.sender),
                flow.sender_address,
                name(flow.receiver),
                flow.receiver_address,
                flow.port,
                flow.start_ns as f64 / 1e9
            )?;
            if let Some(stop) = flow.stop_ns {
                write!(f, ", stops at {} s", stop as f64 / 1e9)?;
            }
            if let Some(bytes) = flow.bytes {
                write!(f, ", {bytes} bytes")?;
            }
            write!(f, ", send buffer {}", flow.send_buffer)?;
            write!(f, ", window {}", flow.window)?;
            if flow.pacing {
                write!(f, ", paced")?;
            }
            if flow.dscp > 0 {
                write!(f, ", dscp {}", flow.dscp)?;
            }
            writeln!(f)?;
        }
        for source in &self.sources {
            writeln!(
                f,
                "{}: {} from {} {} to {} {} port {}, starts at {} s",
                source.name,
                source.kind,
                name(source.sender),
                source.sender_address,
                name(source.receiver),
                source.receiver_address,
                source.port,
                source.start_ns as f64 / 1e9
            )?;
        }
        for program in &self.programs {
            programs(f, program, &name)?;
        }
        Ok(())
    }
}

fn programs<'n>(
    f: &mut fmt::Formatter<'_>,
    program: &Program,
    name: &impl Fn(usize) -> &'n str,
) -> fmt::Result {
    let hosts = [
        ("sender", program.sender, program.sender_addresses),
        ("receiver", program.receiver, program.receiver_addresses),
    ];
    let start = program.start_ns as f64 / 1e9;
    write!(f, "\n{}: from {start} s", program.name)?;
    if let Some(stop) = program.stop_ns {
        write!(f, " to {} s", stop as f64 / 1e9)?;
    }
    if program.dscp > 0 {
        write!(f, ", dscp {}", program.dscp)?;
    }
    writeln!(f)?;
    for ((side, namespace, (four, six)), runs) in hosts.into_iter().zip(&program.sides) {
        write!(f, "  {side} {} {four} {six}", name(namespace))?;
        if let Some(runs) = runs {
            write!(f, ": {}", runs.run.join(" "))?;
            match &runs.ready {
                None => {}
                Some(Ready::Tcp(port)) => write!(f, ", ready at TCP port {port}")?,
                Some(Ready::Udp(port)) => write!(f, ", ready at UDP port {port}")?,
                Some(Ready::Stdout(text)) => write!(f, ", ready when it says {text}")?,
                Some(Ready::After(ns)) => write!(f, ", ready after {} s", *ns as f64 / 1e9)?,
            }
        }
        writeln!(f)?;
        let Some(runs) = runs else { continue };
        if let Some(root) = &runs.root {
            let cwd = runs.cwd.as_deref().unwrap_or("/");
            writeln!(f, "    root {root}, in {cwd}")?;
        }
        for (variable, value) in &runs.env {
            writeln!(f, "    {variable}={value}")?;
        }
    }
    for (variable, value) in &program.env {
        writeln!(f, "  {variable}={value}")?;
    }
    for (file, _) in &program.files {
        writeln!(f, "  /files/{file}")?;
    }
    Ok(())
}

fn lines(f: &mut fmt::Formatter<'_>, batch: &Batch, prefix: &str) -> fmt::Result {
    let tool = match batch.tool {
        Tool::Ip => "ip",
        Tool::Tc => "tc",
        Tool::Adapt => "adapt",
        Tool::Qdisc => "agent",
    };
    for line in &batch.lines {
        writeln!(f, "{prefix}{tool} {line}")?;
    }
    Ok(())
}
