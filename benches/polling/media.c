/*
 * Sends and receives media over UDP, for benches/polling.py. The sender spreads its datagrams
 * evenly over time. WAIT is how the sender waits until the next datagram is due:
 *
 *   sleep  sleeps 1 us, checks the clock, and repeats this
 *   clock  reads the clock in a loop
 *   until  sleeps until the datagram is due
 *
 * The receiver answers every eighth datagram. Its second thread checks every 500 us whether an
 * answer is overdue.
 *
 *   media send ADDRESS RATE SECONDS WAIT       RATE in kbit/s
 *   media receive
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 5000
#define DATAGRAM 1200
#define EVERY 8
#define LATE_NS 10000000
#define ECT1 1

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(1);
}

static int send_media(const char *address, long kbit, long seconds, const char *wait)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	long polls = 0, sent = 0;
	long long gap = DATAGRAM * 8 * 1000000LL / kbit, end, due;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), tos = ECT1;
	char datagram[DATAGRAM] = { 0 }, answer[DATAGRAM];

	check(fd, "socket");
	check(setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), "IP_TOS");
	check(inet_aton(address, &to.sin_addr) - 1, address);
	check(connect(fd, (struct sockaddr *)&to, sizeof(to)), "connect");
	due = now();
	end = due + seconds * 1000000000LL;
	while (due < end) {
		if (!strcmp(wait, "until")) {
			struct timespec ts = { due / 1000000000, due % 1000000000 };

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		}
		for (; now() < due; polls++)
			if (!strcmp(wait, "sleep"))
				usleep(1);
		sent += send(fd, datagram, sizeof(datagram), 0) == sizeof(datagram);
		due += gap;
		while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
			;
	}
	printf("{\"polls\": %ld, \"sent\": %ld}\n", polls, sent);
	return 0;
}

static struct sockaddr_in sender;
static int server;
static atomic_llong answered;

static void answer(void)
{
	sendto(server, "", 1, 0, (struct sockaddr *)&sender, sizeof(sender));
	answered = now();
}

static void *answer_late(void *unused)
{
	for (;;) {
		usleep(500);
		if (answered && now() - answered > LATE_NS)
			answer();
	}
	return unused;
}

static int receive_media(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	socklen_t length;
	char datagram[DATAGRAM];
	pthread_t thread;

	server = socket(AF_INET, SOCK_DGRAM, 0);
	check(server, "socket");
	check(bind(server, (struct sockaddr *)&own, sizeof(own)), "bind");
	check(-pthread_create(&thread, NULL, answer_late, NULL), "pthread_create");
	for (long received = 1;; received++) {
		length = sizeof(sender);
		if (recvfrom(server, datagram, sizeof(datagram), 0, (struct sockaddr *)&sender, &length) < 0)
			return 1;
		if (received % EVERY == 0)
			answer();
	}
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "send"))
		return send_media(argv[2], atol(argv[3]), atol(argv[4]), argv[5]);
	if (argc == 2 && !strcmp(argv[1], "receive"))
		return receive_media();
	fprintf(stderr, "usage: media send ADDRESS RATE SECONDS sleep|clock|until, or media receive\n");
	return 2;
}
