/*
 * pricer-node: one node of a fleet. With a file of neighbours it makes releases that
 * are forwarded, without one it sends shares to relays that add.
 */
#include "node.h"
#include "common/program.h"

int main(int argc, char **argv)
{
    struct node node = {0};
    struct node_arguments arguments = {.number = -1, .accept = -1};
    vector_init(&node.vector);
    node.vector.row = -1;
    int result = node_options_parse(argc, argv, &node, &arguments);
    if (result != OPTIONS_GO)
        return result;
    if (arguments.show)
        return program_close(ledger_show(
            arguments.files.ledger, arguments.files.trust, arguments.json));
    daemon_keep_secrets();
    daemon_lock_memory();
    daemon_raise_files();
    daemon_catch_signals();
    if (arguments.accept >= 0)
        return node_run_accept(&arguments);
    if (arguments.check)
        return node_run_check(&node, &arguments, mesh_node_check);
    return arguments.files.neighbours != NULL ? mesh_node_run(&node, &arguments)
                                              : node_run(&node, &arguments);
}
