/*
 * Random small convolutional networks, as lines of network_text.h: convolutions of all kinds, batch normalisation,
 * activations, additions, joins, pools, views, squeeze-and-excite blocks. Values have several users, and some of them
 * are outputs as well.
 */
#ifndef TESTS_SUPPORT_NETWORK_RANDOM_NETWORK_H
#define TESTS_SUPPORT_NETWORK_RANDOM_NETWORK_H

#include <glib.h>

/* The lines of a network with about `nodes` operators, which follow from the seed. NULL-terminated; free with
 * g_strfreev(). */
char **random_network(guint32 seed, int nodes);

#endif
