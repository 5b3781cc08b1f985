/* Prints this node's devices, as an eval child for each describes it. Needs no database. */
#ifndef WORKER_AGENT_PROBE_H
#define WORKER_AGENT_PROBE_H

/* Starts an eval child for each device, one after the other, and prints a line of
 * {"target":..,"stack":..,"device":..,"identity":..} on stdout. Returns the exit status: 1 where a device does not
 * open; the others are printed all the same. */
int agent_probe(char **devices);

#endif
