/*
 * Which releases arrive if links are emulated: a search over the links that are
 * up, backwards from the server.
 */
#ifndef PROGRAM_MESH_REACH_H
#define PROGRAM_MESH_REACH_H

#include "fleet/emulate.h"

/* reached[i] stays true, or becomes true where links that are up lead from node i
 * over at most `hops` relays to one whose uplink is up. PRICER_MEMORY. */
enum pricer_status reach_emulated(const struct emulate *emulate,
                                  const struct emulate_time *time, int32_t hops,
                                  bool *reached);

#endif
