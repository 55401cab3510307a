/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Starts the kernel as a process that can reach nothing but what it needs.
 *
 *     launch PARENT [-r READABLE]... [-w WRITABLE]... -- PROGRAM ARGUMENT...
 *
 * The kernel confines its guest's mounts to a folder by a prefix, which a mount
 * of "/.." leaves. So this machine's kernel is told, by Landlock: files are
 * read below READABLE and written below WRITABLE, nothing else is opened, and
 * no TCP port is used. Where this machine has no Landlock the rest still holds:
 * the program ends with PARENT (the process that called this) and leaves no
 * core file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As far as headers of Linux 5.13 know them; later ones by their numbers. */
#define READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
	      LANDLOCK_ACCESS_FS_READ_DIR)
#define ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define REFER (UINT64_C(1) << 13)
#define TRUNCATE (UINT64_C(1) << 14)
#define NET_TCP UINT64_C(3)

/* The attribute as of ABI 4; older kernels are given its beginning. */
struct rules {
	uint64_t fs;
	uint64_t net;
};

static void allow(int rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = access,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};

	/* What is not there needs no rule. */
	if (beneath.parent_fd < 0)
		return;
	/* A file has no rights of folders. */
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0)) {
		beneath.allowed_access &= LANDLOCK_ACCESS_FS_EXECUTE |
			LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE;
		syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	}
	close(beneath.parent_fd);
}

int main(int argc, char **argv)
{
	struct rules handled = { .fs = ALL };
	struct rlimit none = { 0, 0 };
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int rules = -1;
	int i = 2;

	if (argc < 4)
		return 125;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may be gone already. */
	if (getppid() != atoi(argv[1]))
		return 125;
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (abi >= 2)
		handled.fs |= REFER;
	if (abi >= 3)
		handled.fs |= TRUNCATE;
	if (abi >= 4)
		handled.net = NET_TCP;
	if (abi >= 1)
		rules = (int)syscall(SYS_landlock_create_ruleset, &handled,
				     abi >= 4 ? sizeof(handled) : sizeof(handled.fs), 0);
	for (; i + 1 < argc && argv[i][0] == '-' && argv[i][1] != '-'; i += 2)
		if (rules >= 0)
			allow(rules, argv[i + 1], argv[i][1] == 'w' ? handled.fs : READ);
	if (rules >= 0) {
		syscall(SYS_landlock_restrict_self, rules, 0);
		close(rules);
	}
	if (i + 1 >= argc || strcmp(argv[i], "--"))
		return 125;
	execv(argv[i + 1], argv + i + 1);
	fprintf(stderr, "%s: %s\n", argv[i + 1], strerror(errno));
	return 127;
}
