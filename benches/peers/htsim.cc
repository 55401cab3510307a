// Reno flows through a drop-tail queue of 1000 packets in csg-htsim, with a round-trip time of 20 ms.
// Arguments: seconds, number of flows, rate of the link in Mbit/s. The last line of the output has
// three numbers: data packets that the senders sent, data packets that the queue dropped, and data
// packets that reached the receivers, retransmissions included.
//
// csg-htsim leaves out SACK, delayed ACKs, RACK, CoDel, histograms and series.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 300;
    const int flows = argc > 2 ? std::atoi(argv[2]) : 1;
    const double mbit = argc > 3 ? std::atof(argv[3]) : 100;
    const int frame = 1514;
    Packet::set_packet_size(frame);
    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(seconds));

    Queue queue(speedFromMbps(mbit), mem_b(1000) * frame, events, nullptr);
    Pipe there(timeFromMs(10), events);
    Pipe back(timeFromMs(10), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<std::unique_ptr<TcpSrc>> sources;
    std::vector<std::unique_ptr<TcpSink>> sinks;
    std::vector<std::unique_ptr<Route>> routes;
    for (int i = 0; i < flows; ++i) {
        sources.emplace_back(new TcpSrc(nullptr, nullptr, events));
        sinks.emplace_back(new TcpSink());
        TcpSrc& source = *sources.back();
        TcpSink& sink = *sinks.back();
        // A window as large as tailback's at the start, and no slow-start threshold.
        source.set_cwnd(10 * frame);
        source.set_ssthresh(0xffffffff);
        routes.emplace_back(new Route());
        Route& forward = *routes.back();
        forward.push_back(&queue);
        forward.push_back(&there);
        forward.push_back(&sink);
        routes.emplace_back(new Route());
        Route& reverse = *routes.back();
        reverse.push_back(&back);
        reverse.push_back(&source);
        source.connect(forward, reverse, sink, 0);
        timers.registerTcp(source);
    }
    // csg-htsim prints a line at each timeout. A stream that has failed discards these lines without
    // formatting them, so that the comparison does not measure the printing.
    std::cout.setstate(std::ios::failbit);
    while (events.doNextEvent()) {
    }
    std::cout.clear();
    uint64_t sent = 0;
    uint64_t received = 0;
    for (const auto& source : sources) sent += source->_packets_sent / frame;
    for (const auto& sink : sinks) received += sink->_packets / frame;
    std::cout << sent << " " << queue.num_drops() << " " << received << std::endl;
    return 0;
}
