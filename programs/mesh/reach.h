/*
 * Which releases arrive if links are emulated: a search over the links that are
 * up in each attempt of a round.
 */
#ifndef PROGRAM_MESH_REACH_H
#define PROGRAM_MESH_REACH_H

#include "fleet/emulate.h"

/*
 * reached[i] becomes true where node i's release arrives in the attempt of `time`
 * or an earlier one: it goes over at most `hops` links that are up, each in the same
 * attempt as the one before or in a later one, then over an uplink that is up.
 * O(nodes links hops) an attempt. PRICER_MEMORY.
 */
enum pricer_status reach_emulated(const struct emulate *emulate,
                                  const struct emulate_time *time, int32_t hops,
                                  bool *reached);

#endif
