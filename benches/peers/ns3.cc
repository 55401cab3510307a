// Case a of benches/ in ns-3: one CUBIC flow through CoDel at 100 Mbit/s, a round-trip time of
// 20 ms. Prints the number of full segments that arrived.

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
    const uint32_t segment = 1448;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(32 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(32 << 20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    NodeContainer nodes;
    nodes.Create(3);
    InternetStackHelper().Install(nodes);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetChannelAttribute("Delay", StringValue("5ms"));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    bottleneck.SetChannelAttribute("Delay", StringValue("5ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer first = access.Install(nodes.Get(0), nodes.Get(1));
    const NetDeviceContainer second = bottleneck.Install(nodes.Get(1), nodes.Get(2));
    TrafficControlHelper fifo;
    fifo.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100000p"));
    fifo.Install(first);
    fifo.Install(second.Get(1));
    TrafficControlHelper codel;
    codel.SetRootQueueDisc("ns3::CoDelQueueDisc");
    codel.Install(second.Get(0));

    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.1.0", "255.255.255.0");
    addresses.Assign(first);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    const Ipv4InterfaceContainer there = addresses.Assign(second);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5000;
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(there.GetAddress(1), port));
    source.SetAttribute("MaxBytes", UintegerValue(0));
    source.Install(nodes.Get(0)).Start(Seconds(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    const ApplicationContainer sinks = sink.Install(nodes.Get(2));
    sinks.Start(Seconds(0));

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx() / segment << std::endl;
    Simulator::Destroy();
    return 0;
}
