//! nginx runs on the sender's host, and curl on the receiver's host.

use super::{Build, IPV6, Made, client, result, server, words_of};
use crate::plan::Ready;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};

const REPORT: &str = "curl.json";

/// The configuration of nginx, without addresses and ports.
const CONFIGURATION: &str = "daemon off;\nmaster_process off;\npid /run/nginx.pid;\n\
    error_log stderr;\nevents { worker_connections 512; }\nhttp {\naccess_log off;\nsendfile on;\n\
    keepalive_requests 1000000;\nclient_body_temp_path /tmp/body;\nproxy_temp_path /tmp/proxy;\n\
    fastcgi_temp_path /tmp/fastcgi;\nuwsgi_temp_path /tmp/uwsgi;\nscgi_temp_path /tmp/scgi;\n";

/// The registry entry of `http`.
pub const ENTRY: Entry<Build> = Entry {
    name: "http",
    doc: "curl downloads from nginx over HTTP/1.1. The key `cc` sets the congestion control of TCP.",
    follows: "nginx and curl",
    options: &[
        Opt {
            name: "bytes",
            doc: "Size of each download.",
            kind: Kind::Size {
                packets: false,
                bytes: true,
            },
            default: Some("20000000b"),
            tc: None,
        },
        Opt {
            name: "downloads",
            doc: "Number of downloads, one after another over the same connection.",
            kind: Kind::Int {
                min: 1,
                max: 10_000,
            },
            default: Some("1"),
            tc: None,
        },
        Opt {
            name: "tls",
            doc: "Whether the download uses HTTPS; the server's certificate is generated when the server starts.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build { made },
};

fn made(options: &Options, _: u64) -> Made {
    let bytes = options.bytes_if_set("bytes").unwrap_or_default();
    let tls = options.bool("tls");
    let (port, scheme) = if tls { (443, "https") } else { (80, "http") };
    let (flag, lines, certificate) = match tls {
        true => (
            " ssl",
            "ssl_certificate certificate.pem;\nssl_certificate_key key.pem;\n",
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
             -subj /CN=sender -keyout key.pem -out certificate.pem 2> certificate.log || exit 1\n",
        ),
        false => ("", "", ""),
    };
    let nginx = format!(
        "mkdir www && truncate -s {bytes} www/data || exit 1\n{certificate}\
         cat > nginx.conf <<'END'\n{CONFIGURATION}server {{\nlisten {port}{flag};\n\
         listen [::]:{port}{flag};\n{lines}root www;\n}}\n}}\nEND\n\
         exec nginx -p \"$PWD/\" -c nginx.conf",
    );
    // In a URL, an IPv6 address is enclosed in brackets.
    let host = match options.bool(IPV6.name) {
        true => "[{sender6}]",
        false => "{sender}",
    };
    let downloads = options.int("downloads");
    let numbers = if downloads > 1 {
        format!("?[1-{downloads}]")
    } else {
        String::new()
    };
    let curl = format!(
        "exec curl -sSkf -o /dev/null -w '%{{json}}\\n' '{scheme}://{host}/data{numbers}' \
         > /out/{REPORT}"
    );
    let shell = |script: String| {
        let mut words = words_of(&["sh", "-c"]);
        words.push(script);
        words
    };
    Made {
        sender: server(shell(nginx), Ready::Tcp(port)),
        receiver: client(shell(curl)),
        packages: words_of(&["curl", "nginx-light"]),
        // If there are several downloads, curl writes several JSON objects. A file with several
        // objects is not valid JSON.
        results: match downloads {
            1 => vec![
                result("goodput_mbit", REPORT, "speed_download", 8e-6),
                result("seconds", REPORT, "time_total", 1.0),
            ],
            _ => Vec::new(),
        },
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::words::filled;
    use crate::registry::{Value, complete_defaults};

    #[test]
    fn braces_of_nginx_and_curl_are_no_placeholders() {
        let mut options = complete_defaults(&ENTRY);
        options.set("tls", Value::Bool(true));
        options.set("ipv6", Value::Bool(true));
        let made = made(&options, 20);
        let said = |side: Option<crate::plan::SidePlan>| {
            let word = side.map(|side| side.run[2].clone()).unwrap_or_default();
            filled(&word, |_| "fd00:3::1".to_owned())
        };
        let server = said(made.sender);
        assert!(server.contains("server {\nlisten 443 ssl;"), "{server}");
        assert!(server.contains("truncate -s 20000000 www/data"), "{server}");
        let client = "exec curl -sSkf -o /dev/null -w '%{json}\\n' \
            'https://[fd00:3::1]/data' > /out/curl.json";
        assert_eq!(said(made.receiver), client);
    }
}
