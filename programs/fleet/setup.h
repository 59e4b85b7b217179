/*
 * What the files of pricer fleet share: from a study with a plan to a folder for
 * every machine of a fleet.
 */
#ifndef PROGRAM_SETUP_H
#define PROGRAM_SETUP_H

#include "pricer_forward.h"

struct setup_member {
    char address[PRICER_ADDRESS_TEXT];
    char key[PRICER_KEY_TEXT];      /* the public one */
    bool given;                     /* its owner has the secret: none is made */
    char enrolled[PRICER_KEY_TEXT]; /* the key that the study had; "": none */
    bool retired; /* the key of its folder is not that one, and stays out */
    bool removed; /* others were enrolled and it was not, and stays out */
};

/* Whom pricer-server sends estimates, see its option. */
#define SETUP_READERS "budgets|all"

struct setup {
    /* asked for */
    const char *study_path, *folder;
    const char *server;    /* its address, or NULL */
    const char *addresses; /* a CSV file, or NULL */
    int64_t rounds;        /* that the plan was made for */
    int readers;           /* who gets estimates: a place in SETUP_READERS */
    bool force;            /* write configurations anew, enrol anew */

    /* made */
    struct pricer_study *study;
    struct pricer_network *network;
    int64_t plan_id;
    struct pricer_plan *plan;
    struct pricer_forward_plan *forward; /* in place of plan, or NULL */
    int64_t attempts;                    /* of a round */
    struct setup_member *members;        /* [nodes + 1], the server first */
    char (*keys)[PRICER_KEY_TEXT]; /* [nodes + 1] theirs, for trust files */
    char home[4096];               /* the folder, from the root */
    char study_home[4096];         /* the study, from the root */
    int32_t beyond;                /* budgets that are more than the study's */
    int32_t enrolled;              /* members that the study had */
};

/*
 * Fill in every address: from the CSV file (columns node,address[,key], `server`
 * is a node), from what is enrolled, or ports of loopback from 7100 on where the
 * server is there too.
 */
enum pricer_status setup_addresses(struct setup *setup,
                                   struct pricer_fault *fault);

/*
 * Folders, keys, configurations, trust files, neighbours, ledgers and units; then everyone
 * is enrolled. Folders have mode 0700 and files 0600 whatever the umask. Without
 * force nothing that is there may be in the way; with it keys and ledgers stay
 * all the same, and keys that were shut out since stay out.
 */
enum pricer_status setup_write(struct setup *setup, struct pricer_fault *fault);

void setup_close(struct setup *setup);

#endif
