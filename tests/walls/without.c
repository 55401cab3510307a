/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a program as on a machine that does not support some sandbox mechanisms ("walls"): without
 * landlock|namespaces ... -- WORD... */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct sock_filter code[64];
static unsigned short length;

static void add(unsigned short op, unsigned char if_true, unsigned char if_false, unsigned int value)
{
	code[length++] = (struct sock_filter){ op, if_true, if_false, value };
}

static void refuse(unsigned int call, unsigned int error)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call);
	add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = code };
	int i = 1;

	add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "landlock"))
			refuse(444, ENOSYS);
		else if (!strcmp(argv[i], "namespaces"))
			refuse(272, EPERM);
		else
			return 2;
	}
	add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	program.len = length;
	if (i + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	execv(argv[i + 1], argv + i + 1);
	return 2;
}
