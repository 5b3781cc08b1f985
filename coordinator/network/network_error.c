#include "coordinator/network/network_error.h"

G_DEFINE_QUARK(skipjack - network - error, network_error)
