/*
 * pricer-node --check of a node that forwards: from its neighbours and the server
 * to the plan, heard as the node would hear it, by the same code. It tells nobody
 * that it has the plan, so it is in no round; nothing is released or passed on.
 */
#include "node.h"

enum {
    PATIENCE = 5000,   /* for the plan, where anybody is reached */
    NEIGHBOURS = 2000, /* for them, who need not run yet */
    HELLO = 500,       /* between two */
};

struct look {
    struct mesh_node *mesh;
    enum hub_end why; /* the server's last end */
    bool planned;     /* the plan was heard */
    int32_t teller;   /* from whom: a place in the links */
};

static void see_opened(void *context, struct hub_peer *peer)
{
    struct look *look = context;
    int32_t from = mesh_links_find(look->mesh, peer);
    if (from > 0 && hub_is_guest(peer))
        look->mesh->links.list[from].in = peer;
    look->mesh->next_hello = 0;
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct look *look = context;
    struct mesh_node *mesh = look->mesh;
    const struct announced *said = &mesh->said.kind[MESH_FLEET];
    enum mesh_kind kind = MESH_KINDS;
    int32_t from = mesh_links_find(mesh, peer);
    if (from < 0 || mesh_type(data, size) != MESH_ANNOUNCE ||
        announce_take(&mesh->said, data, size, &kind) != ANNOUNCE_NEW ||
        kind != MESH_FLEET ||
        !mesh_read_fleet(said->body, said->size, &mesh->fleet) ||
        !mesh_read_plan(mesh->fleet.plan, mesh->fleet.plan_size, &mesh->plan))
        return;
    look->planned = true;
    look->teller = from;
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct look *look = context;
    int32_t from = mesh_links_find(look->mesh, peer);
    if (from == 0)
        look->why = why;
    if (from > 0 && look->mesh->links.list[from].in == peer)
        look->mesh->links.list[from].in = NULL;
}

static bool is_reached(const struct mesh_link *link)
{
    return (link->out != NULL && hub_is_open(link->out)) ||
           (link->in != NULL && hub_is_open(link->in));
}

static int32_t count_reached(const struct mesh_node *mesh)
{
    int32_t count = 0;
    for (int32_t k = 1; k < mesh->links.count; k++)
        count += is_reached(&mesh->links.list[k]);
    return count;
}

/* Read the neighbours and connect to all; false: not even that. */
static bool set_up(struct look *look, struct node *node,
                   const struct node_files *files, struct findings *found)
{
    struct mesh_node *mesh = look->mesh;
    struct pricer_fault fault = {""};
    const struct hub_events events = {look, see_opened, see_frame, see_ended};
    if (neighbours_read(files->neighbours, &mesh->near, &fault) != PRICER_OK) {
        check_tell(found, FOUND_BAD, "neighbours",
                   "%s; its columns are in pricer-node(1)", fault.text);
        return false;
    }
    const struct neighbour *own = neighbours_find(&mesh->near, mesh->number);
    if (own != NULL) {
        check_tell(found, FOUND_BAD, "neighbours",
                   "%s:%lld: this is node %d itself; remove the row",
                   files->neighbours, (long long)own->line, (int)mesh->number);
        return false;
    }
    enum pricer_status status =
        hub_open(&node->pair, &events, &node->hub, &fault);
    mesh->hub = node->hub;
    if (status == PRICER_OK)
        status = mesh_links_open(mesh, &fault);
    if (status != PRICER_OK) {
        check_tell(found, FOUND_BAD, "server", "%s", fault.text);
        return false;
    }
    check_descriptors(found, 2 * (int64_t)mesh->near.count + 1);
    status = hub_listen(node->hub, node->listen, &fault);
    check_listening(found, node->listen, status, &fault);
    return true;
}

/* Until the plan is there and everyone is reached, or patience is at an end. */
static void wait_for_plan(struct look *look)
{
    struct mesh_node *mesh = look->mesh;
    int64_t start = daemon_clock();
    for (;;) {
        int64_t now = daemon_clock();
        int32_t near = count_reached(mesh);
        bool server = is_reached(&mesh->links.list[0]);
        bool all = near == mesh->near.count &&
                   (server || node_check_is_final(look->why));
        bool hopeless = near == 0 && !server;
        if (now >= start + PATIENCE ||
            (now >= start + NEIGHBOURS && (look->planned || hopeless)) ||
            (all && (look->planned || hopeless)))
            return;
        if (!look->planned && now >= mesh->next_hello) {
            mesh->next_greeting = 0;
            mesh_links_greet(mesh, now);
            mesh->next_hello = now + HELLO;
        }
        hub_wait(mesh->hub, 50, -1);
    }
}

static void tell(const struct look *look, const struct node *node,
                 struct findings *found)
{
    const struct mesh_node *mesh = look->mesh;
    int32_t near = count_reached(mesh), count = mesh->near.count;
    int32_t teller = look->planned ? mesh->links.list[look->teller].node : 0;
    node_check_server(found, node, is_reached(&mesh->links.list[0]), look->why,
                      true);
    check_tell(found, near < count ? FOUND_NOTE : FOUND_GOOD, "neighbours",
               "%d of %d reached%s", (int)near, (int)count,
               near < count ? "; the others may not run yet, or a firewall is "
                              "between"
                            : "");
    if (look->planned && teller == PRICER_SERVER)
        check_tell(found, FOUND_GOOD, "plan", "plan %lld, from the server",
                   (long long)mesh->plan.plan);
    else if (look->planned)
        check_tell(found, FOUND_GOOD, "plan",
                   "plan %lld, which the server has signed, from node %d",
                   (long long)mesh->plan.plan, (int)teller);
    else
        check_tell(found, FOUND_NOTE, "plan",
                   "nobody knows one; it comes when the server or a neighbour "
                   "that has heard it is reached");
}

/* Where rounds are relative, what leaves the node is another vector than its own. */
static void tell_reference(const struct mesh_node *mesh,
                           const struct ledger_terms *terms,
                           struct findings *found)
{
    if (mesh->plan.reach > 0)
        check_tell(found, FOUND_GOOD, "reference",
                   "rounds are relative to the last estimate: the change from "
                   "it is released, clipped to %g",
                   terms->radius);
}

bool mesh_node_check(struct node *node, const struct node_files *files,
                     struct findings *found, struct ledger_terms *terms,
                     double *reach)
{
    struct mesh_node mesh = {.server_address = node->server_address,
                             .number = node->number,
                             .ledger = node->ledger};
    struct look look = {.mesh = &mesh, .why = HUB_UNREACHED};
    bool known = false;
    snprintf(mesh.server_key, sizeof mesh.server_key, "%s", node->server_key);
    if (keys_bytes(mesh.server_key, mesh.said.key) &&
        set_up(&look, node, files, found)) {
        wait_for_plan(&look);
        tell(&look, node, found);
        known = look.planned && mesh_own_terms(&mesh, terms);
        if (known)
            tell_reference(&mesh, terms, found);
        if (known)
            *reach = mesh.plan.reach > 0 ? mesh.plan.reach : terms->radius;
        if (look.planned && !known)
            check_tell(found, FOUND_BAD, "plan", "node %d is not in it",
                       (int)mesh.number);
    }
    /* Its events need what is freed here. */
    hub_close(node->hub);
    node->hub = NULL;
    mesh_links_free(&mesh.links);
    announce_free(&mesh.said);
    neighbours_free(&mesh.near);
    wire_free(&mesh.bytes);
    return known;
}
