#!/usr/bin/env bash
# Make the study corpus anew, with the tables that studies have today: a study
# that lacks one is refused at the door, and the fuzzer would learn nothing
# behind it (the test of the corpus says so). Run it after a change of the
# schema:
#
#     tests/fuzz/make_studies.sh BUILD
#
# Small pages keep the files small, so that a flipped byte matters.
set -euo pipefail
export SOURCE_DATE_EPOCH=1700000000 # the same twice
build=$(realpath "$1")
folder=$(dirname "$(realpath "$0")")/corpus/study
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
rm -rf "$folder"
mkdir -p "$folder"

cat >three.yaml <<'YAML'
dimension: 2
network: {generator: erdos-renyi, nodes: 3, p: 0.9, uplink: [0.1, 0.8, 0.5]}
trust: {eps: 1}
YAML
cat >placed.yaml <<'YAML'
dimension: 2
network: {generator: mmwave, positions: [[0, 1], [100, -20.5]], uplink: 0.5}
trust: {eps: 1}
YAML
cat >forward.yaml <<'YAML'
dimension: 2
network: {generator: erdos-renyi, nodes: 3, p: 0.9, uplink: [0.1, 0.8, 0.5]}
trust: {everyone: {eps: 4}}
YAML
"$build/pricer" new forward.pricer forward.yaml >/dev/null
"$build/pricer" plan forward.pricer >/dev/null
"$build/pricer" new empty.pricer three.yaml >/dev/null
"$build/pricer" new placed.pricer placed.yaml >/dev/null
cp empty.pricer full.pricer
"$build/pricer" plan full.pricer >/dev/null
"$build/pricer" privacy full.pricer --observer server >/dev/null
"$build/pricer" simulate full.pricer --trials 20 --strategy naive >/dev/null
sqlite3 full.pricer "
    INSERT INTO member VALUES
        (-1, '0123456789012345678901234567890123456789', 'tcp://127.0.0.1:7100'),
        (1, '9876543210987654321098765432109876543210', 'tcp://127.0.0.1:7101');
    INSERT INTO round_opened VALUES (1, 3);
    INSERT INTO round VALUES
        (1, 1, 2, 2, 2, 0.5, 0.25, zeroblob(16), 'minimax', 0.5),
        (2, 1, 1, 1, 0, 0, NULL, NULL, 'constant', NULL);
    INSERT INTO arrival VALUES (1, 0, 0, 1), (1, 0, 1, 1), (1, 1, 1, 1), (2, 0, 0, 0), (2, 0, 2, 1);
    INSERT INTO delivery VALUES (1, 0, 0, 1), (1, 1, 2, 1), (2, 0, 5, 0);
    INSERT INTO withheld VALUES (2, 0, 0, 'spent'), (2, 1, -1, 'trust');
    INSERT INTO dropped VALUES (1, 'late', 3)"

cp full.pricer measured.pricer
"$build/pricer" plan measured.pricer --from-deliveries >/dev/null

# make NAME FROM SQL: a seed from a study, changed by the statements.
make() {
    cp "$2.pricer" seed.db
    sqlite3 seed.db "PRAGMA journal_mode = DELETE" "PRAGMA foreign_keys = OFF" \
        "PRAGMA page_size = 512" "${3:-SELECT 1}" VACUUM >/dev/null
    cp seed.db "$folder/$1"
}
make plain empty
make full full
make placed placed
make forward forward
make forward_some forward "UPDATE node SET everyone_eps = NULL WHERE node = 1"
make forward_text forward "UPDATE node SET everyone_eps = 'x'"
make forward_hops forward "UPDATE setting SET value = 1e300 WHERE key = 'hops'"
make forward_word forward "UPDATE forward_plan_node SET release = x'ff'"
make forward_hole forward "DELETE FROM forward_plan_node WHERE node = 1"
make text empty "UPDATE node SET p = 'x' WHERE node = 1"
make joint empty "UPDATE link SET joint = 2 WHERE link = 0"
make order empty "UPDATE link SET to_node = 0 WHERE link = 5"
make name_bad empty "UPDATE node SET name = 'a b' WHERE node = 1"
make name_blob empty "UPDATE node SET name = zeroblob(200) WHERE node = 1"
make radius_far empty "UPDATE node SET radius = 2 WHERE node = 0"
make radius_text empty "UPDATE node SET radius = 'x', diameter = 'y'"
make diameter_far empty "UPDATE node SET diameter = 9 WHERE node = 2"
make nolinks empty "DELETE FROM link"
make nonodes empty "DELETE FROM node"
make hole empty "DELETE FROM node WHERE node = 1"
make nosetting empty "DELETE FROM setting WHERE key = 'rounds'"
make blob empty "UPDATE setting SET value = x'00ff' WHERE key = 'dimension'"
make word empty "UPDATE setting SET value = 'zzz' WHERE key = 'bias'"
make plan_node full "UPDATE plan_node SET node = 99 WHERE node = 1"
make plan_sign full "UPDATE plan_link SET weight = -1"
make plan_none full "DELETE FROM plan_node"
make measured measured
make measured_p measured "UPDATE network_link SET p = 2 WHERE link = 1"
make measured_hole measured "DELETE FROM network_node WHERE node = 1"
make measured_word measured "UPDATE network SET origin = x'00', rounds = 'x'"
make measured_none measured "UPDATE plan SET network = 9"
make plan_text full "UPDATE plan SET bias = 'zzz', rounds = 'x'"
make decoder_rank full "UPDATE decoder SET rank = 2"
make decoder_far full "UPDATE decoder SET rank = 9e9, blend = 2"
make decoder_short full "UPDATE decoder_node SET shared = x'00ff' WHERE node = 1"
make decoder_text full "UPDATE decoder_node SET shared = 'x', own = 'y'"
make decoder_long full "UPDATE decoder_node SET own = 7"
make decoder_none full "DELETE FROM decoder_node WHERE node = 2"
make member_long full "UPDATE member SET address = hex(zeroblob(400))"
make member_short full "UPDATE member SET key = 'short' WHERE node = 1"
make member_far full "UPDATE member SET node = 9e9 WHERE node = 1"
make round_far full "UPDATE arrival SET node = 99 WHERE node = 2"
make round_odd full "UPDATE delivery SET link = -7, arrived = 5 WHERE link = 0"
make round_text full "UPDATE round SET error = 'x', arrived = -1"
make round_weight full "UPDATE round SET weight = 'x', contributors = -1"
make withheld_odd full "UPDATE withheld SET reason = x'00', link = 9e9"
make scenario_blob full "UPDATE setting SET value = x'00ff' WHERE key = 'scenario'"
make simulation_word full "UPDATE simulation SET engine = 'zzz'"
make simulation_decoder full "UPDATE simulation SET decoder = 7"
make simulation_text full "UPDATE simulation_strategy SET mse = 'x'"
make privacy_word full "UPDATE privacy SET observer = x'00', coalition = x'ff'"
make privacy_text full "UPDATE privacy_statement SET epsilon = 'x'"
make newer empty "PRAGMA user_version = 99"
make other empty "PRAGMA application_id = 0"
make notable empty "DROP TABLE link"
make view empty "DROP TABLE link; CREATE VIEW link AS SELECT 0 link,
    0 from_node, 1 to_node, .5 p, 0 joint, 1 eps, 1 delta"
head -c 100 "$folder/plain" >"$folder/header"
head -c 4000 "$folder/plain" >"$folder/cut"
{
    head -c 1000 "$folder/full"
    printf '\377'
    tail -c +1002 "$folder/full"
} >"$folder/flip"
: >"$folder/empty"
echo 'not a study' >"$folder/words"
