//! System calls for which no crate provides a safe function. This module contains all `unsafe` code
//! of the agent, except the code for the shared memory of capture rings.
#![allow(unsafe_code)]

pub mod process;

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

pub fn mount(source: &str, target: &str, kind: &str, options: &str) -> io::Result<()> {
    let (source, target) = (c_string(source)?, c_string(target)?);
    let (kind, options) = (c_string(kind)?, c_string(options)?);
    // SAFETY: all four arguments are C strings that outlive the call.
    check(unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            0,
            options.as_ptr().cast(),
        )
    })?;
    Ok(())
}

pub fn bind_mount(source: &str, target: &str) -> io::Result<()> {
    let (source, target) = (c_string(source)?, c_string(target)?);
    // SAFETY: both strings are C strings that outlive the call. A bind mount does not read the
    // other arguments.
    check(unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            std::ptr::null(),
            libc::MS_BIND,
            std::ptr::null(),
        )
    })?;
    Ok(())
}

pub fn new_network() -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    Ok(())
}

pub fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the call takes no pointer.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
    Ok(())
}

pub fn load_module(file: &File, parameters: &str) -> io::Result<()> {
    let parameters = c_string(parameters)?;
    // SAFETY: the descriptor is open, and the C string outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_finit_module,
            file.as_raw_fd(),
            parameters.as_ptr(),
            0,
        )
    };
    check(result as libc::c_int)?;
    Ok(())
}

pub fn power_off() -> ! {
    // SAFETY: the call takes no pointer. No code runs after this call.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    // This process is not the first process of the system, so it cannot power the system off. The
    // process exits instead.
    std::process::exit(1)
}

fn clock(which: libc::clockid_t) -> u64 {
    // SAFETY: a timespec of zeros is valid, and the call writes into it.
    let time = unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(which, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the time of the clock that timers use, in ns.
pub fn monotonic_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Returns the time of the clock that captures use, in ns.
pub fn realtime_ns() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

/// A timer whose expiry a [`Poll`] reports.
pub struct Timer(OwnedFd);

impl Timer {
    pub fn new() -> io::Result<Timer> {
        // SAFETY: the call takes no pointer. The descriptor that it returns is new and owned.
        let fd = check(unsafe {
            libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_NONBLOCK | libc::TFD_CLOEXEC,
            )
        })?;
        // SAFETY: the descriptor is new and owned.
        Ok(Timer(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sets the timer to a time of the monotonic clock.
    pub fn set(&self, at_ns: u64) -> io::Result<()> {
        // SAFETY: the structure is plain data and valid when zeroed. The pointers outlive the call.
        unsafe {
            let mut spec: libc::itimerspec = zeroed();
            // A time of zero would disarm the timer.
            let at_ns = at_ns.max(1);
            spec.it_value.tv_sec = (at_ns / 1_000_000_000) as i64;
            spec.it_value.tv_nsec = (at_ns % 1_000_000_000) as i64;
            check(libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &spec,
                std::ptr::null_mut(),
            ))?;
        }
        Ok(())
    }

    /// Clears the expiry, so that a poll does not report it again.
    pub fn clear(&self) {
        let mut count = [0_u8; 8];
        // SAFETY: a timer writes eight bytes. If the timer has not expired, the call fails, which
        // does not matter.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A set of descriptors to wait for (epoll).
pub struct Poll(OwnedFd);

/// An event: the descriptor is readable, or the peer has closed its sending direction.
pub const READABLE: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP) as u32;
pub const WRITABLE: u32 = libc::EPOLLOUT as u32;
/// Report only changes (edge triggering).
pub const EDGE: u32 = libc::EPOLLET as u32;

impl Poll {
    pub fn new() -> io::Result<Poll> {
        // SAFETY: the call takes no pointer. The descriptor that it returns is new and owned.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor is new and owned.
        Ok(Poll(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: RawFd,
        events: u32,
        token: u64,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: the event outlives the call.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), operation, fd, &mut event) })?;
        Ok(())
    }

    pub fn add(&self, fd: RawFd, events: u32, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, token)
    }

    pub fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    /// Waits for an event, without a time limit. Returns the tokens and events of the descriptors.
    pub fn wait(&self, happened: &mut Vec<(u64, u32)>) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        // SAFETY: the buffer has room for the number of events passed to the call.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 64, -1) };
        happened.clear();
        match check(n) {
            Ok(n) => happened.extend(events[..n as usize].iter().map(|e| (e.u64, e.events))),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

pub struct Socket(OwnedFd);

impl Socket {
    pub fn new(family: i32, kind: i32, protocol: i32) -> io::Result<Socket> {
        let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes no pointer. The descriptor that it returns is new and owned.
        let fd = check(unsafe { libc::socket(family, kind, protocol) })?;
        // SAFETY: the descriptor is new and owned.
        Ok(Socket(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn block(&self) -> io::Result<()> {
        // SAFETY: the call takes no pointer.
        check(unsafe { libc::fcntl(self.fd(), libc::F_SETFL, libc::O_RDWR) })?;
        Ok(())
    }

    /// Sets a socket option whose value is plain data.
    pub fn set<T: Copy>(&self, level: i32, name: i32, value: &T) -> io::Result<()> {
        let pointer: *const T = value;
        self.set_raw(level, name, pointer.cast(), size_of::<T>())
    }

    pub fn set_text(&self, level: i32, name: i32, value: &str) -> io::Result<()> {
        self.set_raw(level, name, value.as_ptr().cast(), value.len())
    }

    fn set_raw(
        &self,
        level: i32,
        name: i32,
        value: *const libc::c_void,
        n: usize,
    ) -> io::Result<()> {
        // SAFETY: the callers pass a live value and its size.
        check(unsafe { libc::setsockopt(self.fd(), level, name, value, n as libc::socklen_t) })?;
        Ok(())
    }

    /// Reads a socket option into a buffer. Returns the length of the option in bytes.
    pub fn get(&self, level: i32, name: i32, buffer: &mut [u8]) -> io::Result<usize> {
        let mut n = buffer.len() as libc::socklen_t;
        // SAFETY: the buffer has room for the number of bytes passed to the call.
        check(unsafe {
            libc::getsockopt(self.fd(), level, name, buffer.as_mut_ptr().cast(), &mut n)
        })?;
        Ok(n as usize)
    }

    pub fn bind(&self, address: Ipv4Addr, port: u16) -> io::Result<()> {
        let name = ipv4(address, port);
        // SAFETY: the address has the size that is passed to the call, and outlives the call.
        check(unsafe {
            libc::bind(
                self.fd(),
                (&raw const name).cast(),
                size_of::<libc::sockaddr_in>() as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    pub fn bind_packets(&self) -> io::Result<()> {
        // SAFETY: the structure is plain data and valid when zeroed. The structure outlives the
        // call.
        unsafe {
            let mut name: libc::sockaddr_ll = zeroed();
            name.sll_family = libc::AF_PACKET as u16;
            name.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            check(libc::bind(
                self.fd(),
                (&raw const name).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            ))?;
        }
        Ok(())
    }

    /// Starts to connect. For TCP, the connection is established later.
    pub fn connect(&self, address: Ipv4Addr, port: u16) -> io::Result<()> {
        let name = ipv4(address, port);
        // SAFETY: the address has the size that is passed to the call, and outlives the call.
        let result = check(unsafe {
            libc::connect(
                self.fd(),
                (&raw const name).cast(),
                size_of::<libc::sockaddr_in>() as libc::socklen_t,
            )
        });
        match result {
            Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Listens. Up to `backlog` connections may wait to be accepted.
    pub fn listen(&self, backlog: i32) -> io::Result<()> {
        // SAFETY: the call takes no pointer.
        check(unsafe { libc::listen(self.fd(), backlog) })?;
        Ok(())
    }

    pub fn peer_port(&self) -> io::Result<u16> {
        let mut length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: the structure is plain data and valid when zeroed. The structure and its length
        // outlive the call.
        let name = unsafe {
            let mut name: libc::sockaddr_in = zeroed();
            let pointer = (&raw mut name).cast();
            check(libc::getpeername(self.fd(), pointer, &mut length))?;
            name
        };
        Ok(u16::from_be(name.sin_port))
    }

    /// Returns and clears the pending error of a connection, if any.
    pub fn error(&self) -> Option<io::Error> {
        let mut bytes = [0_u8; 4];
        self.get(libc::SOL_SOCKET, libc::SO_ERROR, &mut bytes)
            .ok()?;
        match i32::from_ne_bytes(bytes) {
            0 => None,
            error => Some(io::Error::from_raw_os_error(error)),
        }
    }

    /// Accepts the next connection. The socket of the connection is non-blocking.
    pub fn accept(&self) -> io::Result<Socket> {
        // SAFETY: the pointers for the address are null. The descriptor that the call returns is
        // new and owned.
        let fd = check(unsafe {
            libc::accept4(
                self.fd(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            )
        })?;
        // SAFETY: the descriptor is new and owned.
        Ok(Socket(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub fn finish(&self) -> io::Result<()> {
        // SAFETY: the call takes no pointer.
        check(unsafe { libc::shutdown(self.fd(), libc::SHUT_WR) })?;
        Ok(())
    }

    pub fn send_file(&self, file: &File, bytes: usize) -> io::Result<Option<usize>> {
        let mut offset = 0;
        // SAFETY: the descriptors are open, and the offset outlives the call.
        let n = unsafe { libc::sendfile(self.fd(), file.as_raw_fd(), &mut offset, bytes) };
        some_unless_blocked(n)
    }

    pub fn send(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        // SAFETY: the buffer has the length that is passed to the call.
        let n = unsafe { libc::send(self.fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        some_unless_blocked(n)
    }

    /// Sends bytes of a stream. If all bytes fit into the send buffer, a segment ends after the
    /// last byte. Returns `None` if the buffer is full.
    pub fn send_record(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let flags = libc::MSG_EOR;
        // SAFETY: the buffer has the length that is passed to the call.
        let n = unsafe { libc::send(self.fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        some_unless_blocked(n)
    }

    pub fn discard(&self, bytes: usize) -> io::Result<Option<usize>> {
        // SAFETY: with MSG_TRUNC, TCP does not write to the buffer (tcp(7)).
        let n = unsafe { libc::recv(self.fd(), std::ptr::null_mut(), bytes, libc::MSG_TRUNC) };
        some_unless_blocked(n)
    }

    /// Waits until `bytes` bytes have arrived or the stream has ended, and discards the received
    /// bytes.
    pub fn discard_all(&self, bytes: usize) -> io::Result<usize> {
        let flags = libc::MSG_TRUNC | libc::MSG_WAITALL;
        // SAFETY: with MSG_TRUNC, TCP does not write to the buffer (tcp(7)).
        let n = unsafe { libc::recv(self.fd(), std::ptr::null_mut(), bytes, flags) };
        if n < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(n as usize)
    }

    /// Reads the beginning of a datagram. Returns the whole length of the datagram and its arrival
    /// time on the clock of the captures, in ns. The socket must have the option `SO_TIMESTAMPNS`.
    pub fn receive_datagram(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, u64)>> {
        // The buffer has space for a control-message header and two 64-bit numbers, with their
        // alignment.
        let mut control = [0_u64; 8];
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: the structures are plain data and valid when zeroed. All buffers outlive the
        // calls. The kernel writes whole control messages.
        unsafe {
            let mut header: libc::msghdr = zeroed();
            header.msg_iov = &raw mut part;
            header.msg_iovlen = 1;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = size_of_val(&control) as _;
            let n = libc::recvmsg(self.fd(), &raw mut header, libc::MSG_TRUNC);
            let Some(n) = some_unless_blocked(n)? else {
                return Ok(None);
            };
            let message = libc::CMSG_FIRSTHDR(&raw const header);
            if message.is_null() || (*message).cmsg_type != libc::SCM_TIMESTAMPNS {
                return Err(io::Error::other("a datagram has no time of arrival"));
            }
            let at: libc::timespec = libc::CMSG_DATA(message)
                .cast::<libc::timespec>()
                .read_unaligned();
            Ok(Some((
                n,
                at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64,
            )))
        }
    }

    /// Reads a message, such as a netlink message.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer has the length that is passed to the call.
        let n = unsafe { libc::recv(self.fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if n < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(n as usize)
    }

    /// Reads all available messages. Each message gets `size` bytes of the buffer. Returns the
    /// lengths of the messages.
    pub fn receive_each(&self, buffers: &mut [u8], size: usize) -> io::Result<Vec<usize>> {
        let part = |place: &mut [u8]| libc::iovec {
            iov_base: place.as_mut_ptr().cast(),
            iov_len: place.len(),
        };
        let mut parts: Vec<libc::iovec> = buffers.chunks_mut(size).map(part).collect();
        let header = |part: &mut libc::iovec| {
            // SAFETY: the structure is plain data and valid when zeroed.
            let mut header: libc::mmsghdr = unsafe { zeroed() };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header
        };
        let mut headers: Vec<libc::mmsghdr> = parts.iter_mut().map(header).collect();
        let count = headers.len() as libc::c_uint;
        let pointer = headers.as_mut_ptr();
        // SAFETY: there are `count` headers, which outlive the call, and no timeout.
        let n = unsafe { libc::recvmmsg(self.fd(), pointer, count, 0, std::ptr::null_mut()) };
        let n = check(n)? as usize;
        Ok(headers[..n].iter().map(|h| h.msg_len as usize).collect())
    }

    /// Prepares the socket so that closing it resets the connection and discards unsent data.
    pub fn abort(&self) -> io::Result<()> {
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        self.set(libc::SOL_SOCKET, libc::SO_LINGER, &linger)
    }
}

fn some_unless_blocked(n: isize) -> io::Result<Option<usize>> {
    if n >= 0 {
        return Ok(Some(n as usize));
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock {
        Ok(None)
    } else {
        Err(error)
    }
}

fn ipv4(address: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    // SAFETY: the structure is plain data and valid when zeroed.
    let mut name: libc::sockaddr_in = unsafe { zeroed() };
    name.sin_family = libc::AF_INET as u16;
    name.sin_port = port.to_be();
    name.sin_addr.s_addr = u32::from(address).to_be();
    name
}

pub fn send_netlink(socket: &Socket, message: &[u8]) -> io::Result<()> {
    // SAFETY: the structure is plain data and valid when zeroed. The pointers outlive the call.
    let n = unsafe {
        let mut name: libc::sockaddr_nl = zeroed();
        name.nl_family = libc::AF_NETLINK as u16;
        libc::sendto(
            socket.fd(),
            message.as_ptr().cast(),
            message.len(),
            0,
            (&raw const name).cast(),
            size_of::<libc::sockaddr_nl>() as libc::socklen_t,
        )
    };
    check(n as libc::c_int)?;
    Ok(())
}

pub fn device_index(name: &str) -> io::Result<i32> {
    let name = c_string(name)?;
    // SAFETY: the C string outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        n => Ok(n as i32),
    }
}

/// Reads or sets an offload of a device with an ethtool command. Returns the offload's value.
pub fn ethtool(device: &str, command: u32, value: u32) -> io::Result<u32> {
    let socket = Socket::new(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut words = [command, value];
    // SAFETY: the structure is plain data and valid when zeroed. The name is cut so that its
    // terminator fits, and the array `words` outlives the call that reads and writes it.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        for (to, from) in request.ifr_name.iter_mut().take(15).zip(device.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        check(libc::ioctl(socket.fd(), 0x8946, &mut request))?;
    }
    Ok(words[1])
}

/// Creates a file of zeros in memory.
pub fn zeros(bytes: usize) -> io::Result<File> {
    // SAFETY: the name is a C string literal. The descriptor that the call returns is new and
    // owned.
    let file = unsafe {
        let fd = check(libc::memfd_create(c"payload".as_ptr(), libc::MFD_CLOEXEC))?;
        File::from(OwnedFd::from_raw_fd(fd))
    };
    file.set_len(bytes as u64)?;
    // Write the zeros now. If the file had no data, the kernel would allocate each page during the
    // run, when the page is first sent.
    std::os::unix::fs::FileExt::write_all_at(&file, &vec![0; bytes], 0)?;
    Ok(file)
}
