// SPDX-License-Identifier: GPL-2.0
/*
 * reno_acks: Reno with a window that grows for each ACK, as in Linux 3.2.
 *
 * Since 3.15, Linux counts acknowledged segments. Before that, it counted each ACK as one segment,
 * so with delayed ACKs the window grew by half a segment per round-trip time. Slow start lasted
 * until the window exceeded ssthresh, and the ACK that raised the window was not counted again.
 * Everything else is as in the current stack, which uses RACK and PRR instead of the duplicate ACKs
 * and the rate halving of Linux 3.2.
 *
 * The licence is in ../patches/COPYING.
 */
#include <linux/module.h>
#include <net/tcp.h>

static void reno_acks_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;
	if (cwnd <= tp->snd_ssthresh) {
		tcp_snd_cwnd_set(tp, min(cwnd + 1, tp->snd_cwnd_clamp));
	} else if (tp->snd_cwnd_cnt >= cwnd) {
		tcp_snd_cwnd_set(tp, min(cwnd + 1, tp->snd_cwnd_clamp));
		tp->snd_cwnd_cnt = 0;
	} else {
		tp->snd_cwnd_cnt++;
	}
}

static struct tcp_congestion_ops reno_acks __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= reno_acks_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "reno_acks",
};

static int __init reno_acks_start(void)
{
	return tcp_register_congestion_control(&reno_acks);
}

static void __exit reno_acks_stop(void)
{
	tcp_unregister_congestion_control(&reno_acks);
}

module_init(reno_acks_start)
module_exit(reno_acks_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno that grows by ACKs");
