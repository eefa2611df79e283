//! What the machine is: CPUs, cores, LLCs, nodes, sockets, distances and costs.
