/*
 * The tables of a study; docs/study.md explains them. Notes, statements,
 * simulations and rounds are of a plan of either scheme, which no foreign key can
 * check: PRI_PLAN_NUMBER does.
 */
#include "study.h"

const char *const pri_study_schema[] = {
    "CREATE TABLE setting ("
    " key TEXT PRIMARY KEY,"
    " value NOT NULL"
    ") WITHOUT ROWID",

    "CREATE TABLE node ("
    " node INTEGER PRIMARY KEY,"
    " p REAL NOT NULL,"
    " x REAL,"
    " y REAL,"
    " eps REAL NOT NULL,"
    " delta REAL NOT NULL,"
    " server_eps REAL,"
    " server_delta REAL,"
    " name TEXT UNIQUE,"
    " radius REAL NOT NULL,"
    " diameter REAL NOT NULL,"
    " everyone_eps REAL,"
    " everyone_delta REAL"
    ")",

    "CREATE TABLE link ("
    " link INTEGER PRIMARY KEY,"
    " from_node INTEGER NOT NULL REFERENCES node,"
    " to_node INTEGER NOT NULL REFERENCES node,"
    " p REAL NOT NULL,"
    " joint REAL NOT NULL,"
    " eps REAL NOT NULL,"
    " delta REAL NOT NULL"
    ")",

    "CREATE TABLE network ("
    " network INTEGER PRIMARY KEY,"
    " origin TEXT NOT NULL,"
    " rounds INTEGER NOT NULL,"
    " first_round INTEGER,"
    " last_round INTEGER"
    ")",

    "CREATE TABLE network_node ("
    " network INTEGER NOT NULL REFERENCES network,"
    " node INTEGER NOT NULL REFERENCES node,"
    " p REAL NOT NULL,"
    " PRIMARY KEY (network, node)"
    ") WITHOUT ROWID",

    "CREATE TABLE network_link ("
    " network INTEGER NOT NULL REFERENCES network,"
    " link INTEGER NOT NULL REFERENCES link,"
    " p REAL NOT NULL,"
    " joint REAL NOT NULL,"
    " PRIMARY KEY (network, link)"
    ") WITHOUT ROWID",

    "CREATE TABLE plan ("
    " plan INTEGER PRIMARY KEY,"
    " network INTEGER NOT NULL REFERENCES network,"
    " bias TEXT NOT NULL,"
    " lambda REAL NOT NULL,"
    " calibration TEXT NOT NULL,"
    " method TEXT NOT NULL,"
    " rounds INTEGER NOT NULL,"
    " credit TEXT NOT NULL,"
    " tolerance REAL,"
    " objective REAL,"
    " bound REAL,"
    " gap REAL,"
    " iterations INTEGER,"
    " variance REAL,"
    " piv REAL,"
    " tiv REAL,"
    " mse_paper REAL,"
    " mse_worst_case REAL,"
    " bias_l1 REAL,"
    " sum_multiplier REAL NOT NULL"
    ")",

    "CREATE TABLE plan_note ("
    " plan INTEGER PRIMARY KEY,"
    " made INTEGER,"
    " name TEXT UNIQUE"
    ")",

    "CREATE TABLE plan_node ("
    " plan INTEGER NOT NULL REFERENCES plan,"
    " node INTEGER NOT NULL REFERENCES node,"
    " weight REAL NOT NULL,"
    " noise REAL NOT NULL,"
    " row_multiplier REAL NOT NULL,"
    " relay_multiplier REAL NOT NULL,"
    " server_multiplier REAL,"
    " PRIMARY KEY (plan, node)"
    ") WITHOUT ROWID",

    "CREATE TABLE plan_link ("
    " plan INTEGER NOT NULL REFERENCES plan,"
    " link INTEGER NOT NULL REFERENCES link,"
    " weight REAL NOT NULL,"
    " noise REAL NOT NULL,"
    " PRIMARY KEY (plan, link)"
    ") WITHOUT ROWID",

    "CREATE TABLE forward_plan ("
    " plan INTEGER PRIMARY KEY,"
    " network INTEGER NOT NULL REFERENCES network,"
    " release TEXT NOT NULL,"
    " rounds INTEGER NOT NULL,"
    " hops INTEGER NOT NULL,"
    " heard INTEGER NOT NULL,"
    " mse_worst_case REAL NOT NULL,"
    " mse_stderr REAL NOT NULL,"
    " missing REAL NOT NULL,"
    " noise REAL NOT NULL,"
    " mse_alone REAL NOT NULL,"
    " mse_perfect REAL NOT NULL,"
    " gap REAL NOT NULL,"
    " bytes REAL NOT NULL,"
    " patterns INTEGER NOT NULL,"
    " measured INTEGER NOT NULL,"
    " repeat INTEGER NOT NULL"
    ")",

    "CREATE TABLE forward_plan_node ("
    " plan INTEGER NOT NULL REFERENCES forward_plan,"
    " node INTEGER NOT NULL REFERENCES node,"
    " release TEXT NOT NULL,"
    " threshold REAL NOT NULL,"
    " loss REAL NOT NULL,"
    " noise REAL NOT NULL,"
    " variance REAL NOT NULL,"
    " coefficient REAL NOT NULL,"
    " arrival REAL NOT NULL,"
    " relays INTEGER,"
    " PRIMARY KEY (plan, node)"
    ") WITHOUT ROWID",

    "CREATE TABLE decoder ("
    " plan INTEGER PRIMARY KEY REFERENCES plan,"
    " rank INTEGER NOT NULL,"
    " attempts INTEGER NOT NULL,"
    " blind INTEGER NOT NULL,"
    " blend REAL NOT NULL,"
    " horizon REAL NOT NULL,"
    " constant REAL NOT NULL,"
    " lower REAL NOT NULL,"
    " reached REAL NOT NULL,"
    " upper REAL NOT NULL,"
    " lower_stderr REAL NOT NULL,"
    " upper_stderr REAL NOT NULL,"
    " patterns INTEGER NOT NULL,"
    " exact INTEGER NOT NULL"
    ")",

    "CREATE TABLE decoder_node ("
    " plan INTEGER NOT NULL REFERENCES decoder,"
    " node INTEGER NOT NULL REFERENCES node,"
    " own REAL NOT NULL,"
    " target REAL NOT NULL,"
    " cap REAL NOT NULL,"
    " shared BLOB NOT NULL,"
    " PRIMARY KEY (plan, node)"
    ") WITHOUT ROWID",

    "CREATE TABLE privacy ("
    " privacy INTEGER PRIMARY KEY,"
    " plan INTEGER NOT NULL,"
    " observer TEXT NOT NULL,"
    " protect TEXT NOT NULL,"
    " eavesdropper TEXT NOT NULL,"
    " rounds INTEGER NOT NULL,"
    " coalition TEXT"
    ")",

    "CREATE TABLE privacy_statement ("
    " privacy INTEGER NOT NULL REFERENCES privacy,"
    " node INTEGER NOT NULL REFERENCES node,"
    " at INTEGER REFERENCES node,"
    " delta REAL NOT NULL,"
    " epsilon REAL NOT NULL,"
    " epsilon_lower REAL NOT NULL,"
    " floor REAL NOT NULL,"
    " exact INTEGER NOT NULL,"
    " printed REAL,"
    " corrected REAL"
    ")",

    "CREATE TABLE simulation ("
    " simulation INTEGER PRIMARY KEY,"
    " plan INTEGER NOT NULL,"
    " engine TEXT NOT NULL,"
    " data TEXT NOT NULL,"
    " seed INTEGER NOT NULL,"
    " trials INTEGER NOT NULL,"
    " clipped INTEGER NOT NULL,"
    " decoder TEXT NOT NULL"
    ")",

    "CREATE TABLE simulation_strategy ("
    " simulation INTEGER NOT NULL REFERENCES simulation,"
    " strategy TEXT NOT NULL,"
    " mse REAL NOT NULL,"
    " mse_stderr REAL,"
    " predicted REAL,"
    " worst_case REAL,"
    " bias REAL NOT NULL,"
    " bias_predicted REAL,"
    " difference REAL NOT NULL,"
    " difference_stderr REAL,"
    " bar REAL,"
    " PRIMARY KEY (simulation, strategy)"
    ") WITHOUT ROWID",

    "CREATE TABLE simulation_bin ("
    " simulation INTEGER NOT NULL,"
    " strategy TEXT NOT NULL,"
    " low REAL NOT NULL,"
    " high REAL NOT NULL,"
    " trials INTEGER NOT NULL,"
    " PRIMARY KEY (simulation, strategy, low),"
    " FOREIGN KEY (simulation, strategy) REFERENCES simulation_strategy"
    ") WITHOUT ROWID",

    "CREATE TABLE simulation_node ("
    " simulation INTEGER NOT NULL REFERENCES simulation,"
    " node INTEGER NOT NULL REFERENCES node,"
    " up INTEGER NOT NULL,"
    " PRIMARY KEY (simulation, node)"
    ") WITHOUT ROWID",

    "CREATE TABLE simulation_link ("
    " simulation INTEGER NOT NULL REFERENCES simulation,"
    " link INTEGER NOT NULL REFERENCES link,"
    " up INTEGER NOT NULL,"
    " both INTEGER NOT NULL,"
    " PRIMARY KEY (simulation, link)"
    ") WITHOUT ROWID",

    "CREATE TABLE member ("
    " node INTEGER PRIMARY KEY,"
    " key TEXT NOT NULL UNIQUE,"
    " address TEXT NOT NULL"
    ")",

    "CREATE TABLE member_seen ("
    " key TEXT PRIMARY KEY,"
    " round INTEGER NOT NULL,"
    " session INTEGER NOT NULL"
    ") WITHOUT ROWID",

    "CREATE TABLE member_next ("
    " node INTEGER PRIMARY KEY,"
    " old TEXT NOT NULL,"
    " key TEXT NOT NULL UNIQUE,"
    " proof BLOB NOT NULL"
    ")",

    "CREATE TABLE round_opened ("
    " only INTEGER PRIMARY KEY CHECK (only = 1),"
    " round INTEGER NOT NULL"
    ")",

    "CREATE TABLE round ("
    " round INTEGER PRIMARY KEY,"
    " plan INTEGER NOT NULL,"
    " attempts INTEGER NOT NULL,"
    " arrived INTEGER NOT NULL,"
    " contributors INTEGER NOT NULL,"
    " weight REAL NOT NULL,"
    " error REAL,"
    " estimate BLOB,"
    " decoder TEXT NOT NULL,"
    " bar REAL"
    ")",

    "CREATE TABLE round_arrival ("
    " round INTEGER NOT NULL REFERENCES round,"
    " node INTEGER NOT NULL REFERENCES node,"
    " hops INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL,"
    " PRIMARY KEY (round, node)"
    ") WITHOUT ROWID",

    "CREATE TABLE arrival ("
    " round INTEGER NOT NULL REFERENCES round,"
    " attempt INTEGER NOT NULL,"
    " node INTEGER NOT NULL REFERENCES node,"
    " arrived INTEGER NOT NULL,"
    " PRIMARY KEY (round, attempt, node)"
    ") WITHOUT ROWID",

    "CREATE TABLE delivery ("
    " round INTEGER NOT NULL REFERENCES round,"
    " attempt INTEGER NOT NULL,"
    " link INTEGER NOT NULL REFERENCES link,"
    " arrived INTEGER NOT NULL,"
    " PRIMARY KEY (round, attempt, link)"
    ") WITHOUT ROWID",

    "CREATE TABLE withheld ("
    " round INTEGER NOT NULL REFERENCES round,"
    " node INTEGER NOT NULL REFERENCES node,"
    " link INTEGER NOT NULL,"
    " reason TEXT NOT NULL,"
    " PRIMARY KEY (round, node, link)"
    ") WITHOUT ROWID",

    "CREATE TABLE dropped ("
    " round INTEGER NOT NULL REFERENCES round,"
    " reason TEXT NOT NULL,"
    " messages INTEGER NOT NULL,"
    " PRIMARY KEY (round, reason)"
    ") WITHOUT ROWID",

    NULL,
};
