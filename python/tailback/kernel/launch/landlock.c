/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Restricts the process with Landlock: it can open files only below the given folders
 * and use no TCP ports. It can neither send signals to processes outside of its Landlock
 * domain nor connect to their abstract Unix sockets.
 *
 * Landlock does not need a namespace, and still holds if a path leads out of
 * the new root folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch.h"

/* Rights that the headers of Linux 5.13 define. Later rights are given as
 * numbers. */
#define FILE_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)
#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define REFER (UINT64_C(1) << 13)
#define TRUNCATE (UINT64_C(1) << 14)
#define IOCTL_DEV (UINT64_C(1) << 15)
#define NET_TCP UINT64_C(3)
#define SCOPED UINT64_C(3)

/* A guest may create only files and folders in its workplace, e.g. no symbolic
 * links. */
#define MAKES (LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	       LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG)

/* struct landlock_ruleset_attr of ABI 6. Older kernels get only its first
 * members. */
struct rules {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

static void allow(int rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = access,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};

	/* A missing file does not need a rule. */
	if (beneath.parent_fd < 0)
		return;
	/* A file does not accept rights of folders. */
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0)) {
		beneath.allowed_access &= LANDLOCK_ACCESS_FS_EXECUTE | FILE_RIGHTS | TRUNCATE;
		syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	}
	close(beneath.parent_fd);
}

void restrict_files(const struct places *places)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct rules handled = { .fs = ALL };
	size_t size = sizeof(handled.fs);
	uint64_t rights[3];
	int rules;

	walls[SCOPES] = ENOSYS;
	if (abi < 1) {
		walls[LANDLOCK] = abi < 0 ? errno : ENOSYS;
		return;
	}
	if (abi >= 2)
		handled.fs |= REFER;
	if (abi >= 3)
		handled.fs |= TRUNCATE;
	if (abi >= 4) {
		handled.net = NET_TCP;
		size = offsetof(struct rules, scoped);
	}
	if (abi >= 5)
		handled.fs |= IOCTL_DEV;
	if (abi >= 6) {
		handled.scoped = SCOPED;
		size = sizeof(handled);
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
	if (rules < 0) {
		walls[LANDLOCK] = errno;
		return;
	}
	rights[READABLE] = READ;
	rights[PROGRAM] = READ | LANDLOCK_ACCESS_FS_EXECUTE;
	rights[WRITABLE] = (READ | FILE_RIGHTS | MAKES | REFER | TRUNCATE) & handled.fs;
	for (size_t i = 0; i < places->count; i++)
		allow(rules, places->at[i].path, rights[places->at[i].kind]);
	allow(rules, "/dev/null", (FILE_RIGHTS | TRUNCATE) & handled.fs);
	walls[LANDLOCK] = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			  syscall(SYS_landlock_restrict_self, rules, 0) ? errno : 0;
	if (!walls[LANDLOCK] && abi >= 6)
		walls[SCOPES] = 0;
	close(rules);
}
