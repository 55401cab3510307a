/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Installs a seccomp filter that permits only the system calls that the guest's
 * kernel (User-mode Linux, a process of this machine) needs.
 *
 * Calls that are not in the table fail with ENOSYS: sockets, other namespaces, mounts,
 * links, keys, BPF, io_uring, ptrace, and calls that a later Linux adds. clone() must
 * share the memory of the parent, and execveat() must execute an open file, as User-mode
 * Linux does when it starts the processes of its guest.
 *
 * For each process of the guest, User-mode Linux installs a second filter that traps its
 * system calls. A trap takes precedence over an error of this filter.
 *
 * Before release 6.16, User-mode Linux forks for each process of its guest, and the child
 * asks to be traced (PTRACE_TRACEME). Attaching to any other process fails in these
 * releases, too. A traced call stops before it reaches this filter.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch.h"

/* Numbers for machines with older headers. */
#define NR_RSEQ 334
#define NR_CLOSE_RANGE 436
#define NR_FACCESSAT2 439

/* The most frequent calls come first: a machine without a cache searches from the top. */
static const unsigned short ALLOWED[] = {
	SYS_futex, SYS_sendmsg, SYS_recvmsg, SYS_mmap, SYS_munmap, SYS_rt_sigreturn,
	SYS_rt_sigprocmask, SYS_clock_gettime, SYS_timer_settime, SYS_close, SYS_read,
	SYS_write, SYS_arch_prctl, SYS_pread64, SYS_pwrite64, SYS_poll, SYS_epoll_wait,
	SYS_getpid, SYS_gettid, SYS_kill, SYS_tgkill, SYS_wait4, SYS_mprotect, SYS_madvise,
	/* Files. */
	SYS_open, SYS_openat, SYS_stat, SYS_lstat, SYS_fstat, SYS_newfstatat, SYS_statx,
	SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, NR_FACCESSAT2, SYS_lseek,
	SYS_readv, SYS_writev, SYS_preadv, SYS_pwritev, SYS_readlink, SYS_readlinkat,
	SYS_getdents, SYS_getdents64, SYS_getcwd, SYS_mkdir, SYS_mkdirat, SYS_rmdir,
	SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_chmod, SYS_fchmod, SYS_fchmodat,
	SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat, SYS_truncate, SYS_ftruncate,
	SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_utime, SYS_utimes, SYS_futimesat,
	SYS_utimensat, SYS_umask, SYS_dup, SYS_dup2, SYS_dup3, SYS_fcntl, SYS_flock,
	SYS_pipe, SYS_pipe2, SYS_eventfd2, SYS_signalfd4, SYS_shutdown, NR_CLOSE_RANGE,
	/* Waiting and time. */
	SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create1, SYS_epoll_create,
	SYS_epoll_ctl, SYS_epoll_pwait, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep,
	SYS_gettimeofday, SYS_time, SYS_timer_create, SYS_timer_gettime, SYS_timer_getoverrun,
	SYS_timer_delete, SYS_setitimer, SYS_getitimer, SYS_times, SYS_pause,
	/* Memory, signals, the process itself. */
	SYS_brk, SYS_mremap, SYS_msync, SYS_membarrier, SYS_rt_sigaction, SYS_rt_sigpending,
	SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_tkill, SYS_waitid,
	SYS_exit, SYS_exit_group, SYS_getppid, SYS_getpgrp, SYS_getpgid, SYS_getsid,
	SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getgroups, SYS_getresuid,
	SYS_getresgid, SYS_getrlimit, SYS_getrusage, SYS_set_tid_address, SYS_set_robust_list,
	NR_RSEQ, SYS_sched_yield, SYS_sched_getaffinity, SYS_getcpu, SYS_uname, SYS_sysinfo,
	SYS_getrandom, SYS_seccomp,
};

/* PR_ options: the name, the signal when the parent ends, no new privileges, and no access
 * to the processor's counter. */
static const unsigned int PRCTL[] = {
	PR_SET_NAME, PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_TSC,
};
/* TCGETS, FIONREAD, FIONBIO, FIOASYNC: none of them can insert input into a
 * terminal. */
static const unsigned int IOCTL[] = { 0x5401, 0x541b, 0x5421, 0x5452 };
/* PER_LINUX with ADDR_NO_RANDOMIZE, and the value that only queries. */
static const unsigned int PERSONALITY[] = { 0x0040000, 0xffffffff };
static const unsigned int UNIX[] = { AF_UNIX };
static const unsigned int ITSELF[] = { 0 };
static const unsigned int OPEN_FILE[] = { AT_EMPTY_PATH };

/* ptrace: TRACEME, PEEKUSER, POKEUSER, CONT, KILL, GETREGS, SETREGS, GETFPREGS, SETFPREGS,
 * OLDSETOPTIONS, SYSCALL, ARCH_PRCTL, SYSEMU, SYSEMU_SINGLESTEP, SETOPTIONS, GETSIGINFO,
 * GETREGSET, SETREGSET. ATTACH and SEIZE are not permitted. */
static const unsigned int PTRACE[] = {
	0, 3, 6, 7, 8, 12, 13, 14, 15, 21, 24, 30, 31, 32, 0x4200, 0x4202, 0x4204, 0x4205,
};

/* The lower half of this argument has to be one of these values. */
static const struct {
	unsigned int call;
	unsigned int argument;
	const unsigned int *values;
	unsigned int count;
} CHECKED[] = {
	{ SYS_prctl, 0, PRCTL, 4 },   { SYS_ioctl, 1, IOCTL, 4 },
	{ SYS_personality, 0, PERSONALITY, 2 }, { SYS_socketpair, 0, UNIX, 1 },
	{ SYS_prlimit64, 0, ITSELF, 1 },	    { SYS_execveat, 4, OPEN_FILE, 1 },
};

#define NO_CLONE (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
		  CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

#define DATA(field) (offsetof(struct seccomp_data, field))

struct program {
	struct sock_filter code[1024];
	unsigned short length;
};

static void add(struct program *program, unsigned short code, unsigned char if_true,
		unsigned char if_false, uint32_t value)
{
	program->code[program->length++] =
		(struct sock_filter){ code, if_true, if_false, value };
}

#define LOAD (BPF_LD | BPF_W | BPF_ABS)
#define EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define RETURN (BPF_RET | BPF_K)
#define REFUSED (SECCOMP_RET_ERRNO | ENOSYS)

static void check_argument(struct program *program, unsigned int call, unsigned int argument,
			   const unsigned int *values, unsigned char count)
{
	/* Skip all of this for other calls, because it overwrites the call's number in the
	 * accumulator. */
	add(program, EQUAL, 0, 2 * count + 2, call);
	add(program, LOAD, 0, 0, DATA(args) + 8 * argument);
	for (unsigned char i = 0; i < count; i++) {
		add(program, EQUAL, 0, 1, values[i]);
		add(program, RETURN, 0, 0, SECCOMP_RET_ALLOW);
	}
	add(program, RETURN, 0, 0, REFUSED);
}

/* Permits execve only with the name at this address, which is the guest's
 * kernel. */
static void check_exec(struct program *program, const char *name)
{
	uint64_t at = (uintptr_t)name;

	add(program, EQUAL, 0, 6, SYS_execve);
	add(program, LOAD, 0, 0, DATA(args));
	add(program, EQUAL, 0, 3, (uint32_t)at);
	add(program, LOAD, 0, 0, DATA(args) + 4);
	add(program, EQUAL, 0, 1, (uint32_t)(at >> 32));
	add(program, RETURN, 0, 0, SECCOMP_RET_ALLOW);
	add(program, RETURN, 0, 0, REFUSED);
}

/* Permits clone with all of `flags` and without any of `refused`. */
static void check_clone(struct program *program, unsigned int flags, unsigned int refused)
{
	add(program, EQUAL, 0, 5, SYS_clone);
	add(program, LOAD, 0, 0, DATA(args));
	add(program, BPF_ALU | BPF_AND | BPF_K, 0, 0, refused | flags);
	add(program, EQUAL, 0, 1, flags);
	add(program, RETURN, 0, 0, SECCOMP_RET_ALLOW);
	add(program, RETURN, 0, 0, REFUSED);
}

int filter_calls(const char *name, bool traces)
{
	static struct program program;
	struct sock_fprog filter;

	add(&program, LOAD, 0, 0, DATA(arch));
	add(&program, EQUAL, 1, 0, AUDIT_ARCH_X86_64);
	add(&program, RETURN, 0, 0, REFUSED);
	/* x32 calls have an extra bit in their number, so they match none of these. */
	add(&program, LOAD, 0, 0, DATA(nr));
	for (size_t i = 0; i < COUNT(ALLOWED); i++) {
		add(&program, EQUAL, 0, 1, ALLOWED[i]);
		add(&program, RETURN, 0, 0, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < COUNT(CHECKED); i++)
		check_argument(&program, CHECKED[i].call, CHECKED[i].argument, CHECKED[i].values,
			       CHECKED[i].count);
	if (traces)
		check_argument(&program, SYS_ptrace, 0, PTRACE, COUNT(PTRACE));
	/* When traced, a process of the guest makes the next one, as a child of the kernel. */
	if (traces)
		check_clone(&program, 0, NO_CLONE);
	else
		check_clone(&program, CLONE_VM, NO_CLONE | CLONE_PARENT);
	check_exec(&program, name);
	add(&program, RETURN, 0, 0, REFUSED);
	filter = (struct sock_fprog){ program.length, program.code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return errno;
	/* Disable the speculation mitigation, which slows every call. This process has no secrets
	 * to protect. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter))
		return errno;
	return 0;
}
