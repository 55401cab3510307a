// SPDX-License-Identifier: GPL-2.0
/* A congestion control that never returns from the start of its first
 * connection. */
#include <linux/module.h>
#include <net/tcp.h>

static void hangs_init(struct sock *sk)
{
	for (;;)
		cpu_relax();
}

static struct tcp_congestion_ops hangs __read_mostly = {
	.name		= "hangs",
	.owner		= THIS_MODULE,
	.init		= hangs_init,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= tcp_reno_cong_avoid,
};

static int __init hangs_register(void)
{
	return tcp_register_congestion_control(&hangs);
}

static void __exit hangs_unregister(void)
{
	tcp_unregister_congestion_control(&hangs);
}

module_init(hangs_register);
module_exit(hangs_unregister);
MODULE_LICENSE("GPL");
