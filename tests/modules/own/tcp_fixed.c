// SPDX-License-Identifier: GPL-2.0
/* A congestion control whose window never changes, so that a test can compute
 * the results. */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int segments = 20;
module_param(segments, uint, 0444);
MODULE_PARM_DESC(segments, "the window");

static void fixed_init(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), segments);
}

static void fixed_cong_control(struct sock *sk, u32 ack, int flag,
			       const struct rate_sample *rs)
{
	tcp_snd_cwnd_set(tcp_sk(sk), segments);
}

static u32 fixed_window(struct sock *sk)
{
	return segments;
}

static struct tcp_congestion_ops fixed __read_mostly = {
	.name		= "fixed",
	.owner		= THIS_MODULE,
	.init		= fixed_init,
	.cong_control	= fixed_cong_control,
	.ssthresh	= fixed_window,
	.undo_cwnd	= fixed_window,
};

static int __init fixed_register(void)
{
	return tcp_register_congestion_control(&fixed);
}

static void __exit fixed_unregister(void)
{
	tcp_unregister_congestion_control(&fixed);
}

module_init(fixed_register);
module_exit(fixed_unregister);
MODULE_LICENSE("GPL");
