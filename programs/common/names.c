/*
 * From a node's number to what people call it.
 */
#include "program.h"

#include <stdio.h>

/* Its name, or NULL where it has none. */
static const char *find_name(const struct pricer_network *network, int32_t node)
{
    bool named = network != NULL && network->name != NULL && node >= 0 &&
                 node < network->nodes && network->name[node][0] != '\0';
    return named ? network->name[node] : NULL;
}

struct node_label node_label(const struct pricer_network *network, int32_t node)
{
    struct node_label label;
    const char *name = find_name(network, node);
    if (name != NULL)
        snprintf(label.text, sizeof label.text, "%s (%d)", name, (int)node);
    else
        snprintf(label.text, sizeof label.text, "%d", (int)node);
    return label;
}

struct node_label node_folder(const struct pricer_network *network,
                              int32_t node)
{
    struct node_label label;
    const char *name = find_name(network, node);
    if (name != NULL)
        snprintf(label.text, sizeof label.text, "%s", name);
    else
        snprintf(label.text, sizeof label.text, "node%d", (int)node);
    return label;
}

void json_name(struct json *json, const char *key,
               const struct pricer_network *network, int32_t node)
{
    const char *name = find_name(network, node);
    if (name != NULL)
        json_text(json, key, name);
}
