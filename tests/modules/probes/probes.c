// SPDX-License-Identifier: GPL-2.0
/* A kernel module that tries to reach the host machine when it is loaded. */
#include <linux/kernel.h>
#include <linux/module.h>

#define PROBE_SAY(name, result) pr_err("probe: %s %ld\n", name, result)

#include "probes.h"

module_param_string(secret, at.secret, sizeof(at.secret), 0);
module_param_string(outside, at.outside, sizeof(at.outside), 0);
module_param_string(kit, at.kit, sizeof(at.kit), 0);
module_param_string(results, at.results, sizeof(at.results), 0);
module_param_string(socket, at.socket, sizeof(at.socket), 0);
module_param_string(abstract, at.abstract, sizeof(at.abstract), 0);
module_param_string(shared, at.shared, sizeof(at.shared), 0);
module_param_string(terminal, at.terminal, sizeof(at.terminal), 0);
module_param_named(victim, at.victim, int, 0);
module_param_named(tcp, at.tcp, int, 0);
module_param_named(udp, at.udp, int, 0);

static int __init probes_init(void)
{
	probe_all();
	return 0;
}

module_init(probes_init);
MODULE_DESCRIPTION("tries to leave its guest");
MODULE_LICENSE("GPL");
