/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Starts the guest's kernel in a sandbox, which hides all files and system
 * calls that it does not need.
 *
 *     launch PARENT MIB confined|unconfined seccomp|ptrace [-r READABLE]... [-x PROGRAM]...
 *            -w WORKPLACE -- WORD...
 *
 * The sandbox has five mechanisms ("walls"): separate namespaces, a root folder with
 * only the given paths, Landlock, a seccomp filter, and resource limits. Each has a
 * source file in this folder. The guest's kernel does not isolate its modules from this
 * machine, because they run in the same process.
 *
 * A mechanism that this machine does not support is skipped. The first line of output has
 * the state of each mechanism ("tailback: walls user=0 ...", 0 or an errno). If no
 * mechanism protects this machine's files, the launcher exits, unless it was started with
 * `unconfined`.
 *
 * There are three processes: this one, the first of the PID namespace, and the kernel. Each
 * ends when the process that started it ends. When the first process of the PID namespace
 * ends, Linux ends all others in it. The guest's memory (slightly more than MIB) is an
 * unnamed file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"

#define BAD_USE 125
#define UNCONFINED 126
#define NOT_FOUND 127
#define BY_SIGNAL 128

/* In addition to the guest's memory: the kernel keeps its own pages in the same file. */
#define SPARE_MIB 64

int walls[WALLS];

static const char *const NAMES[WALLS] = {
	[USER] = "user",	 [MOUNT] = "mount",   [PID] = "pid",
	[IPC] = "ipc",		 [UTS] = "uts",	      [NET] = "net",
	[LANDLOCK] = "landlock", [SCOPES] = "scopes", [SECCOMP] = "seccomp",
};

static struct places places;
static char workplace[PATH_MAX];
static unsigned long memory_mib;
static bool unconfined, traces;
static char **words;
static char program[PATH_MAX];

static void die(const char *what)
{
	dprintf(STDOUT_FILENO, "tailback: error %s: %s\n", what, strerror(errno));
	_exit(BAD_USE);
}

/* Makes an anonymous file in place of one that the kernel would make in a folder here. */
static void memory_file(const char *variable, unsigned long bytes)
{
	char number[16];
	int fd = memfd_create("guest", MFD_ALLOW_SEALING);

	if (fd < 0)
		die("the guest's memory");
	if (bytes && (ftruncate(fd, (off_t)bytes) ||
		      fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)))
		die("the guest's memory");
	snprintf(number, sizeof(number), "%d", fd);
	setenv(variable, number, 1);
}

/* Prints the state of all sandbox mechanisms as one line, with a single write. */
static void report(void)
{
	char line[512] = "tailback: walls";
	size_t length = strlen(line);

	for (int i = 0; i < WALLS; i++)
		length += (size_t)snprintf(line + length, sizeof(line) - length, " %s=%d",
					   NAMES[i], walls[i]);
	line[length++] = '\n';
	if (write(STDOUT_FILENO, line, length) < 0)
		_exit(BAD_USE);
}

/* Enters the rest of the sandbox, and executes the guest's kernel. */
static void become_kernel(void)
{
	if (chdir(workplace))
		die(workplace);
	restrict_files(&places);
	limit((memory_mib + SPARE_MIB) << 20);
	/* Without this, User-mode Linux would set the personality itself and
	 * execute itself again. */
	personality(PER_LINUX | ADDR_NO_RANDOMIZE);
	if (drop_capabilities())
		die("capabilities");
	walls[SECCOMP] = filter_calls(program, traces);
	report();
	if (walls[MOUNT] && walls[LANDLOCK] && !unconfined)
		_exit(UNCONFINED);
	execve(program, words, environ);
	die(program);
}

/* The first process of the namespace: when it ends, all others in it end, too. */
static void be_first(int parent)
{
	struct pollfd gone = { .fd = parent };
	int status;
	pid_t kernel, ended;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Test by pidfd whether the parent has already ended, because its process id is
	 * not visible in this namespace. */
	if (poll(&gone, 1, 0))
		_exit(BAD_USE);
	limit_processes();
	if (!walls[MOUNT])
		walls[MOUNT] = make_root(&places, workplace);
	kernel = fork();
	if (kernel < 0)
		die("fork");
	if (!kernel) {
		close(parent);
		become_kernel();
	}
	drop_capabilities();
	do
		ended = waitpid(-1, &status, 0);
	while (ended != kernel && (ended > 0 || errno == EINTR));
	_exit(WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status));
}

static void end_as(int status)
{
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	if (WEXITSTATUS(status) > BY_SIGNAL && WEXITSTATUS(status) < BY_SIGNAL + NSIG) {
		signal(WEXITSTATUS(status) - BY_SIGNAL, SIG_DFL);
		raise(WEXITSTATUS(status) - BY_SIGNAL);
	}
	_exit(WEXITSTATUS(status));
}

static void read_words(int argc, char **argv)
{
	static const enum kind kinds[] = { ['r'] = READABLE, ['x'] = PROGRAM, ['w'] = WRITABLE };
	int i = 5;

	for (; i + 1 < argc && argv[i][0] == '-' && argv[i][1] != '-'; i += 2) {
		char letter = argv[i][1];
		struct place *place = &places.at[places.count++];

		if (places.count > MAX_PLACES || !strchr("rxw", letter) || argv[i + 1][0] != '/' ||
		    strlen(argv[i + 1]) >= sizeof(workplace))
			_exit(BAD_USE);
		*place = (struct place){ argv[i + 1], kinds[(int)letter] };
		if (place->kind == WRITABLE)
			strcpy(workplace, place->path);
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") || !workplace[0])
		_exit(BAD_USE);
	words = argv + i + 1;
	snprintf(program, sizeof(program), "%s", words[0]);
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	int ends[2], status = 0;
	pid_t first;

	if (argc < 7)
		return BAD_USE;
	memory_mib = strtoul(argv[2], NULL, 10);
	unconfined = !strcmp(argv[3], "unconfined");
	traces = !strcmp(argv[4], "ptrace");
	read_words(argc, argv);
	setrlimit(RLIMIT_CORE, &none);
	memory_file("TAILBACK_MEMORY", (memory_mib + SPARE_MIB) << 20);
	memory_file("TAILBACK_STUB", 0);
	enter_namespaces();
	/* Set the signal only now, because a change of credentials resets it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have ended before the signal was set. */
	if (getppid() != atoi(argv[1]))
		return BAD_USE;
	if (walls[PID]) {
		/* Without a PID namespace, this process executes the kernel. */
		if (!walls[MOUNT])
			walls[MOUNT] = make_root(&places, workplace);
		become_kernel();
	}
	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	first = fork();
	if (first < 0)
		die("fork");
	if (!first) {
		close(ends[1]);
		be_first(ends[0]);
	}
	close(ends[0]);
	drop_capabilities();
	while (waitpid(first, &status, 0) < 0 && errno == EINTR)
		;
	end_as(status);
}
