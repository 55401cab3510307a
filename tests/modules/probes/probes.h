/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls that malicious code in a guest could make to the host's kernel directly. A kernel
 * module makes these calls inside a guest, and plain.c makes them in an ordinary process of the
 * host.
 *
 * Each probe returns the result of the host's kernel: a number below 0 is an error, any other
 * number a success. PROBE_SAY(name, result) prints the result, and PROBE(name) is the name of a
 * parameter that the includer defines.
 */


static long call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#define CALL(number, ...) CALL_(number, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL_(number, a, b, c, d, e, f, ...) \
	call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#define H_RDONLY 0
#define H_WRONLY 1
#define H_CREAT 0100
#define H_CLONE_VM 0x100
#define H_CLONE_NEWUSER 0x10000000
#define H_SIGCHLD 17
#define H_MAP 0x22 /* MAP_PRIVATE | MAP_ANONYMOUS */

static struct {
	char secret[256];    /* a file of the user */
	char outside[256];   /* a file that does not exist */
	char kit[256];	     /* a file in the root of the guest kernel (kit) */
	char results[256];   /* the folder in which the guest may write */
	char socket[108];    /* a Unix socket at which a process listens */
	char abstract[108];  /* such a socket in the abstract namespace */
	char shared[256];    /* a file of another program in /dev/shm */
	char terminal[64];   /* the user's terminal */
	int victim;	     /* a process of the user */
	int tcp;	     /* ports of 127.0.0.1 at which a process listens */
	int udp;
} at;

static long probe_open(const char *path, int flags)
{
	long fd = CALL(2, path, flags, 0600);

	if (fd >= 0)
		CALL(3, fd);
	return fd;
}

static void name_into(char *to, const char *a, const char *b)
{
	while (*a)
		*to++ = *a++;
	while (*b)
		*to++ = *b++;
	*to = 0;
}

static long in_results(const char *name, char *path)
{
	name_into(path, at.results, name);
	return 0;
}

struct inet {
	unsigned short family;
	unsigned short port;
	unsigned char address[4];
	char zero[8];
};

static struct inet loopback(int port)
{
	struct inet to = { .family = 2, .address = { 127, 0, 0, 1 } };

	to.port = (unsigned short)(port >> 8 | (port & 255) << 8);
	return to;
}

static long tcp_connect(void)
{
	struct inet to = loopback(at.tcp);
	long fd = CALL(41, 2, 1, 0);

	return fd < 0 ? fd : CALL(42, fd, &to, sizeof(to));
}

static long tcp_listen(void)
{
	struct inet to = loopback(0);
	long fd = CALL(41, 2, 1, 0);
	long result;

	if (fd < 0)
		return fd;
	result = CALL(49, fd, &to, sizeof(to));
	return result < 0 ? result : CALL(50, fd, 1);
}

static long udp_send(void)
{
	struct inet to = loopback(at.udp);
	long fd = CALL(41, 2, 2, 0);

	return fd < 0 ? fd : CALL(44, fd, "x", 1, 0, &to, sizeof(to));
}

struct unix_name {
	unsigned short family;
	char path[108];
};

static long unix_connect(const char *path, int abstract)
{
	static struct unix_name to;
	long fd = CALL(41, 1, 1, 0);
	int length = 0;

	if (fd < 0)
		return fd;
	to.family = 1;
	for (; path[length]; length++)
		to.path[length + abstract] = path[length];
	if (abstract)
		to.path[0] = 0;
	else
		to.path[length] = 0;
	return CALL(42, fd, &to, 2 + length + 1);
}

/* Calls process_vm_readv with two vectors: memory of this process and memory of the victim. */
static long read_memory(void)
{
	static char here[8];
	long mine[2] = { (long)here, 8 }, theirs[2] = { 0x400000, 8 };

	return CALL(310, at.victim, mine, 1, theirs, 1, 0);
}

/* Starts a process in this process's memory that only sleeps. Returns its
 * process id. */
static long start_sleeper(char *stack_end)
{
	static long moment[2] = { 600, 0 };
	long result;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n"
			 "0:\n\t"
			 "mov $35, %%eax\n\t" /* nanosleep */
			 "mov %[moment], %%rdi\n\t"
			 "xor %%esi, %%esi\n\t"
			 "syscall\n\t"
			 "jmp 0b\n"
			 "1:\n\t"
			 : "=a"(result)
			 : "a"(56L), "D"((long)(H_CLONE_VM | H_SIGCHLD)), "S"(stack_end),
			   "d"(0L), [moment] "b"(moment)
			 : "rcx", "r11", "memory");
	return result;
}

/* Returns how many processes can be started. */
static long fork_bomb(void)
{
	static char stack[4096] __attribute__((aligned(16)));
	static long started[2048];
	long count = 0;

	/* The processes use no stack. */
	while (count < 2048) {
		started[count] = start_sleeper(stack + sizeof(stack) - 64);
		if (started[count] < 0)
			break;
		count++;
	}
	/* Kill all processes except one, which tries to outlive the run. */
	for (long i = 1; i < count; i++) {
		CALL(62, started[i], 9);
		CALL(61, started[i], 0, 0x40000000, 0);
	}
	return count;
}

/* Returns how many MiB of memory the process can allocate in addition to the guest's memory. */
static long memory_fill(void)
{
	static long pieces[1024];
	long count = 0;

	while (count < 1024) {
		pieces[count] = CALL(9, 0, 16 << 20, 3, H_MAP, -1, 0);
		if (pieces[count] < 0 && pieces[count] > -4096)
			break;
		count++;
	}
	for (long i = 0; i < count; i++)
		CALL(11, pieces[i], 16 << 20);
	return count * 16;
}

/* Returns how many GiB a file in the results can have. */
static long disk_fill(void)
{
	static char path[512];
	unsigned long its = 1ul << 24, before, at_once[2] = { 0, 0 };
	long fd, size = 0;

	in_results("/big", path);
	fd = CALL(2, path, H_CREAT | H_WRONLY, 0600);
	if (fd < 0)
		return fd;
	/* Block SIGXFSZ, which would kill this process. */
	CALL(14, 0, &its, &before, 8);
	while (size < 1024 && CALL(77, fd, (size + 1) << 30) == 0)
		size++;
	CALL(77, fd, 0);
	CALL(87, path);
	CALL(128, &its, 0, at_once, 8);
	CALL(14, 2, &before, 0, 8);
	CALL(3, fd);
	return size;
}

static long core_dump(void)
{
	unsigned long limits[2] = { 1 << 20, 1 << 20 };

	return CALL(160, 4, limits);
}

static long make(long number, const char *name, long mode)
{
	static char path[512];

	in_results(name, path);
	return number == 88 ? CALL(88, "/etc/passwd", path) : CALL(number, path, mode, 0x103);
}

static long become_other(void)
{
	return CALL(117, 12345, 12345, 12345);
}

static long exec_shell(void)
{
	static char name[] = "/bin/sh";
	static char *words[] = { name, 0 };

	return CALL(59, name, words, 0);
}

static void probe_all(void)
{
	static char page[4096];
	static long attributes[16] = { 0x7000000001, 0 };

	/* Files. */
	PROBE_SAY("read-passwd", probe_open("/etc/passwd", H_RDONLY));
	PROBE_SAY("read-secret", probe_open(at.secret, H_RDONLY));
	PROBE_SAY("read-above", probe_open("/../../etc/hostname", H_RDONLY));
	PROBE_SAY("list-home", probe_open("/root", 0200000));
	PROBE_SAY("list-users", probe_open("/home", 0200000));
	PROBE_SAY("write-outside", probe_open(at.outside, H_CREAT | H_WRONLY));
	PROBE_SAY("write-kit", probe_open(at.kit, H_WRONLY));
	PROBE_SAY("write-root", probe_open("/mine", H_CREAT | H_WRONLY));
	PROBE_SAY("core-pattern", probe_open("/proc/sys/kernel/core_pattern", H_WRONLY));
	PROBE_SAY("environment", probe_open("/proc/1/environ", H_RDONLY));
	PROBE_SAY("link", make(88, "/link", 0));
	PROBE_SAY("device", make(133, "/device", 020600));
	PROBE_SAY("by-handle", CALL(304, -100, page, 0));
	/* Shared memory. */
	PROBE_SAY("shm-read", probe_open(at.shared, H_RDONLY));
	PROBE_SAY("shm-write", probe_open("/dev/shm/tailback-probe", H_CREAT | H_WRONLY));
	PROBE_SAY("shm-unlink", CALL(87, at.shared));
	PROBE_SAY("sysv-shm", CALL(29, 4711, 4096, 01600));
	PROBE_SAY("memfd", CALL(319, "probe", 0));
	/* Terminals. */
	PROBE_SAY("tty", probe_open("/dev/tty", 2));
	PROBE_SAY("terminal", probe_open(at.terminal, 2));
	PROBE_SAY("ptmx", probe_open("/dev/ptmx", 2));
	PROBE_SAY("type-ahead", CALL(16, 0, 0x5412, "x"));
	/* The network and sockets. */
	PROBE_SAY("tcp-connect", tcp_connect());
	PROBE_SAY("tcp-listen", tcp_listen());
	PROBE_SAY("udp", udp_send());
	PROBE_SAY("packet-socket", CALL(41, 17, 3, 0));
	PROBE_SAY("netlink", CALL(41, 16, 3, 0));
	PROBE_SAY("vsock", CALL(41, 40, 1, 0));
	PROBE_SAY("unix-path", unix_connect(at.socket, 0));
	PROBE_SAY("unix-abstract", unix_connect(at.abstract, 1));
	/* Processes. */
	PROBE_SAY("kill", CALL(62, at.victim, 9));
	PROBE_SAY("queue-signal", CALL(62, at.victim, 0));
	PROBE_SAY("ptrace", CALL(101, 16, at.victim, 0, 0));
	PROBE_SAY("read-memory", read_memory());
	PROBE_SAY("pidfd", CALL(434, at.victim, 0));
	PROBE_SAY("session", CALL(112));
	PROBE_SAY("process-group", CALL(109, 0, 0));
	PROBE_SAY("exec", exec_shell());
	PROBE_SAY("other-user", become_other());
	PROBE_SAY("limits-of-others", CALL(302, at.victim, 7, 0, page));
	PROBE_SAY("core-dump", core_dump());
	/* Namespaces and mounts. */
	PROBE_SAY("unshare-user", CALL(272, H_CLONE_NEWUSER));
	PROBE_SAY("clone-user", CALL(56, H_CLONE_NEWUSER | H_CLONE_VM | H_SIGCHLD, page + 4000));
	PROBE_SAY("mount", CALL(165, "none", "/", "tmpfs", 0, 0));
	PROBE_SAY("chroot", CALL(161, "/"));
	PROBE_SAY("setns", CALL(308, 0, 0));
	/* The host's kernel. */
	PROBE_SAY("bpf", CALL(321, 0, attributes, 64));
	PROBE_SAY("perf", CALL(298, attributes, 0, -1, -1, 0));
	PROBE_SAY("io-uring", CALL(425, 4, page));
	PROBE_SAY("userfaultfd", CALL(323, 1));
	PROBE_SAY("keys", CALL(250, 0, -3, 1));
	PROBE_SAY("load-module", CALL(313, 0, "", 0));
	PROBE_SAY("personality", CALL(135, 0x0400000));
	PROBE_SAY("x32", CALL(0x40000000 | 39));
	/* How many resources the process can use. */
	PROBE_SAY("memory-mib", memory_fill());
	PROBE_SAY("file-gib", disk_fill());
	PROBE_SAY("processes", fork_bomb());
}
