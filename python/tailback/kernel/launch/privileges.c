/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drops all capabilities of a process, and limits its resources. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch.h"

#define MIB (1ul << 20)

/* Address space in addition to the guest's memory: the kernel, libraries, stacks. */
#define BEYOND (512 * MIB)
/* Largest size of a file: results, captured packets. */
#define LARGEST_FILE (16384 * MIB)
#define FILES 1024

int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	/* Otherwise an exec would give root all capabilities of its namespace. */
	prctl(PR_SET_SECUREBITS,
	      SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
		prctl(PR_CAPBSET_DROP, capability);
	if (syscall(SYS_capset, &header, none))
		return errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? errno : 0;
}

static void at_most(int resource, unsigned long most)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return;
	if (now.rlim_max < most)
		most = now.rlim_max;
	setrlimit(resource, &(struct rlimit){ most, most });
}

void limit(unsigned long memory_bytes)
{
	at_most(RLIMIT_CORE, 0);
	at_most(RLIMIT_MEMLOCK, 0);
	at_most(RLIMIT_MSGQUEUE, 0);
	at_most(RLIMIT_RTPRIO, 0);
	at_most(RLIMIT_NOFILE, FILES);
	at_most(RLIMIT_FSIZE, LARGEST_FILE);
	at_most(RLIMIT_AS, memory_bytes + BEYOND);
	/* In its own user namespace only its own processes count; outside, all of the user's. */
	if (!walls[USER])
		at_most(RLIMIT_NPROC, PROCESSES);
}
