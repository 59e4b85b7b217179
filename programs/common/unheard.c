/*
 * From a network to the nodes that can never be heard, as a sentence and as JSON.
 */
#include "unheard.h"

#include <string.h>

enum { NAMED = 8, COLUMNS = 98 };

bool unheard_is(const struct pricer_network *network, int32_t node)
{
    bool heard = network->uplink[node] > 0;
    for (int32_t l = network->out_start[node];
         l < network->out_start[node + 1] && !heard; l++)
        heard = network->p[l] > 0 && network->uplink[network->to[l]] > 0;
    return !heard;
}

static bool is_within(const struct pricer_forward_plan *plan, int32_t node)
{
    int32_t relays = plan->node[node].relays;
    return relays >= 0 && relays <= plan->hops;
}

int32_t unheard_count(const struct pricer_network *network)
{
    int32_t count = 0;
    for (int32_t i = 0; i < network->nodes; i++)
        count += unheard_is(network, i);
    return count;
}

/* Add the names of the first few nodes of whom something holds. */
static void add_names(const struct pricer_network *network,
                      const struct pricer_forward_plan *plan, int32_t count,
                      char text[UNHEARD_ROOM])
{
    int32_t named = 0;
    int used = (int)strlen(text);
    for (int32_t i = 0; i < network->nodes && named < NAMED; i++)
        if (plan != NULL ? !is_within(plan, i) : unheard_is(network, i))
            used +=
                snprintf(text + used, (size_t)(UNHEARD_ROOM - used), "%s %s",
                         named++ > 0 ? "," : "", node_label(network, i).text);
    if (count > named)
        used += snprintf(text + used, (size_t)(UNHEARD_ROOM - used),
                         " and %d more", (int)(count - named));
    snprintf(text + used, (size_t)(UNHEARD_ROOM - used), ".");
}

const char *unheard_text(const struct pricer_network *network,
                         char text[UNHEARD_ROOM])
{
    int32_t count = unheard_count(network);
    text[0] = '\0';
    if (count == 0)
        return text;
    snprintf(text, UNHEARD_ROOM,
             "NEVER HEARD: %d of %d nodes, whose data no estimate contains. "
             "They have neither an uplink nor a link to a node with one:",
             (int)count, (int)network->nodes);
    add_names(network, NULL, count, text);
    return text;
}

const char *unheard_within(const struct pricer_network *network,
                           const struct pricer_forward_plan *plan,
                           char text[UNHEARD_ROOM])
{
    text[0] = '\0';
    if (plan == NULL || plan->heard == plan->nodes)
        return text;
    snprintf(text, UNHEARD_ROOM,
             "NEVER HEARD: %d of %d nodes have no path to the server over at "
             "most %d relay%s, and no estimate contains their data:",
             (int)(plan->nodes - plan->heard), (int)plan->nodes,
             (int)plan->hops, plan->hops == 1 ? "" : "s");
    add_names(network, plan, plan->nodes - plan->heard, text);
    return text;
}

void unheard_print(FILE *out, const struct pricer_network *network,
                   const struct pricer_forward_plan *plan)
{
    char text[UNHEARD_ROOM];
    int column = 0;
    if (plan != NULL)
        unheard_within(network, plan, text);
    else
        unheard_text(network, text);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        int length = (int)strlen(word);
        bool fits = column + 1 + length <= COLUMNS;
        fprintf(out, "%s%s", column == 0 ? "" : fits ? " " : "\n", word);
        column = column > 0 && fits ? column + 1 + length : length;
    }
    if (column > 0)
        fputc('\n', out);
}

void unheard_json(struct json *json, const struct pricer_network *network)
{
    json_open(json, "unheard", '[');
    for (int32_t i = 0; i < network->nodes; i++)
        if (unheard_is(network, i))
            json_count(json, NULL, i);
    json_close(json, ']');
}
