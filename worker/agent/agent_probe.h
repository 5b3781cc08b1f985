/* Prints this node's devices, as an eval child for each describes it. Needs no database. */
#ifndef WORKER_AGENT_AGENT_PROBE_H
#define WORKER_AGENT_AGENT_PROBE_H

/* Starts an eval child for each device, one after the other, and prints for each a line
 * {"target":..,"stack":..,"device":..,"identity":..} on stdout. A device that does not open does
 * not stop the others. Returns the exit status: 1 if a device did not open, else 0. */
int agent_probe(char **devices);

#endif
