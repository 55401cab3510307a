// SPDX-License-Identifier: GPL-2.0
/* A congestion control that makes the kernel panic when its first connection
 * starts. */
#include <linux/module.h>
#include <net/tcp.h>

static void panics_init(struct sock *sk)
{
	panic("the window of %s is gone", "panics");
}

static struct tcp_congestion_ops panics __read_mostly = {
	.name		= "panics",
	.owner		= THIS_MODULE,
	.init		= panics_init,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= tcp_reno_cong_avoid,
};

static int __init panics_register(void)
{
	return tcp_register_congestion_control(&panics);
}

static void __exit panics_unregister(void)
{
	tcp_unregister_congestion_control(&panics);
}

module_init(panics_register);
module_exit(panics_unregister);
MODULE_LICENSE("GPL");
