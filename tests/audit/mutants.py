"""Mutants of the library that the audit must catch.

Each mutant is one line of one source file, replaced in a copy, compiled with
the build's own flags and linked into a `pricer` of its own ahead of the static
library. `pricer audit` of the mutant must contradict a claim (exit status 3);
`pricer audit` of the true program must not, with the same seed and with others.
Argument: the build folder.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

build = os.path.realpath(sys.argv[1])
bad = []

# The words of compile commands are the compiler and what follows; of the link
# command, ninja knows them.
commands = {
    os.path.basename(entry["output"]): shlex.split(entry["command"])
    for entry in json.load(open(os.path.join(build, "compile_commands.json")))
    if "libpricer_core.a.p" in entry["output"]
}
linking = subprocess.run(
    ["ninja", "-C", build, "-t", "commands", "-s", "pricer"],
    capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def replace_after(words, flag, value):
    words[words.index(flag) + 1] = value


def make_mutant(folder, source, line, instead):
    """Build pricer with a line of lib/SOURCE exchanged; returns its path."""
    command = list(commands["lib_" + source.replace("/", "_") + ".o"])
    original = os.path.join(build, command[-1])
    text = open(original).read()
    if text.count(line) != 1:
        sys.exit(f"lib/{source} holds '{line}' {text.count(line)} times, not "
                 "once: tell this script where it went")
    mutant = os.path.join(folder, os.path.basename(source))
    open(mutant, "w").write(text.replace(line, instead))
    object_file = os.path.join(folder, "mutant.o")
    command[-1] = mutant
    replace_after(command, "-o", object_file)
    for flag in ("-MQ", "-MF"):
        replace_after(command, flag, os.path.join(folder, "mutant.d"))
    at = command.index("-o")
    command[at:at] = ["-iquote", os.path.dirname(original), "-O1"]
    subprocess.run(command, cwd=build, check=True)
    words = shlex.split(linking)
    program = os.path.join(folder, "pricer")
    replace_after(words, "-o", program)
    words.insert(words.index("libpricer_core.a"), object_file)
    subprocess.run(words, cwd=build, check=True)
    return program


def run(program, *arguments, status=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != status:
        bad.append(f"{' '.join([program, *arguments])}: exit status "
                   f"{done.returncode}, expected {status}\n"
                   f"{done.stdout}{done.stderr}")
    return done.stdout


def audit(program, study, *arguments, caught):
    """One audit; the verdict of the table and the exit status must agree."""
    out = run(program, "audit", study, *arguments, status=3 if caught else 0)
    if ("CONTRADICTED" in out) != caught:
        bad.append(f"the verdict of {program} {arguments} is wrong:\n{out}")


def new_study(program, folder, name, scenario, *planning):
    path = os.path.join(folder, name + ".pricer")
    file = os.path.join(folder, name + ".yaml")
    open(file, "w").write(scenario)
    run(program, "new", "--force", path, file)
    run(program, "plan", path, *planning)
    return path


def clique(eps):
    return ("dimension: 4\n"
            "network: {generator: erdos-renyi, nodes: 4, p: 0.8, uplink: 0.7, "
            "reciprocity: 1}\n"
            f"trust: {{eps: {eps}, delta: 1e-3, self: {{eps: {eps}}}}}\n")


def nine(folder):
    """Nine nodes of noise 1 and weight 0.1 send to one relay, d = 128."""
    def csv(name, head, rows):
        path = os.path.join(folder, name)
        open(path, "w").write("\n".join([head, *rows]) + "\n")
        return path
    csv("nodes.csv", "node,p", [f"{i},1" for i in range(10)])
    csv("links.csv", "from,to,p", [f"{i},0,1" for i in range(1, 10)])
    weights = csv("weights.csv", "from,to,alpha,sigma",
                  [f"{i},0,0.1,1" for i in range(1, 10)])
    return ("dimension: 128\n"
            "network: {files: {nodes: nodes.csv, links: links.csv}}\n"
            "trust: {eps: 1, delta: 1e-3}\n"), weights


# What is mutated, on which network it shows, and the audit that shows it.
MUTANTS = [
    ("the factor 2 dropped from the calibration",
     "calibrate/noise_slopes.c", "pri_round_up((long double)diameter / mu)",
     "pri_round_up((long double)diameter / 2 / mu)",
     1, ["--observer", "link"]),
    ("the factor 2 dropped from the account of links",
     "account/account.c", "(long double)net->node_diameter[net->from[link]]",
     "(long double)net->node_radius[net->from[link]]",
     1, ["--observer", "link", "--claim", "account"]),
    ("the factor 2 dropped from the accounts of relays and the server",
     "observe/view.c", "(scene->identity ? net->node_radius : net->node_diameter)",
     "(net->node_radius)",
     1, ["--observer", "server"]),
    ("the same, for a relay",
     "observe/view.c", "(scene->identity ? net->node_radius : net->node_diameter)",
     "(net->node_radius)",
     1, ["--observer", "relay"]),
    ("no noise on the link from 1 to 2",
     "round/round.c", "pri_noise_add(&noise, random, slice->dimension, message);",
     "if (slice->node != 1 || share->to != 2) "
     "pri_noise_add(&noise, random, slice->dimension, message);",
     1, ["--observer", "link", "--all", "--trials", "10000"]),
    ("no noise on the last coordinate",
     "round/round.c", "pri_noise_add(&noise, random, slice->dimension, message);",
     "pri_noise_add(&noise, random, slice->dimension - 1, message);",
     1, ["--observer", "relay", "--trials", "10000"]),
    ("the classic formula where the analytic one belongs",
     "calibrate/calibrate.c", "if (calibration == PRICER_CALIBRATION_CLASSIC) {",
     "if (calibration != PRICER_CALIBRATION_CLASSIC) {",
     50, ["--observer", "link"]),
]

# Releases that are forwarded: audits of a plan that the true program made.
FORWARD = [
    ("a coin that says yes half as often: p is too large",
     "release/coin.c", "(uint64_t)BN_get_word(sum) + 1;",
     "((uint64_t)BN_get_word(sum) + 1) / 2;", "of the data"),
    ("another threshold of the cap",
     "release/sample.c", "product > sampler->release.t * length",
     "product > .9 * sampler->release.t * length", "of the data"),
    ("every hundredth seed is the one before",
     "release/sample.c", "(int)(coin < sampler->coin) | (int)inside;",
     "(int)(coin < sampler->coin) | (int)inside;\n{ static unsigned char old[16]; static int n; "
     "if (status == PRICER_OK && *accepted && ++n % 100 == 0) memcpy((void *)(bytes + 8), old, 16); "
     "else if (*accepted) memcpy(old, bytes + 8, 16); }", "come before"),
    ("angles off by a hundredth: some directions are preferred",
     "release/expand.c", "0x4000000000000000u) - 3.;",
     "0x4000000000000000u) - 2.95;", "should be"),
    ("vectors are not clipped",
     "release/sample.c",
     "fmax(sqrt(pri_expand_square(d + 1, along)), radius / largest);",
     "radius / largest;", "of the data"),
    ("half of the loss in the account",
     "release/composition.c", ".e0 = release->e0,", ".e0 = release->e0 / 2,",
     "everyone"),
]

# Plans that the check of plans must refuse: what is mutated, and the kind of
# release.
PLANNED = [
    ("half of the probability of a loss beyond eps", "release/composition.c",
     "sum += signs.now * -expm1l(-excess);",
     "sum += signs.now * -expm1l(-excess) / 2;", "sphere"),
    ("the factor 2 dropped from the Gaussian release", "release/parameters.c",
     "2 * (long double)wish->radius / mu", "(long double)wish->radius / mu",
     "gaussian"),
    ("rounding of payloads not counted as distance", "release/parameters.c",
     "noise = fminl(noise, move.fixed / (mu - move.growing));",
     "noise = fminl(noise, wish->diameter / mu);",
     "gaussian\ndiameter: 0.3"),
]


def forward(release, rounds):
    return ("dimension: 4\n"
            "network: {generator: erdos-renyi, nodes: 4, p: 0.8, uplink: 0.7}\n"
            "trust: {everyone: {eps: 2, delta: 1e-4}}\n"
            f"release: {release}\nrounds: {rounds}\n")


def check_forward(folder):
    studies = {kind: new_study(true, folder, kind, forward(kind, 3))
               for kind in ("sphere", "gaussian")}
    for kind in studies:
        for options in ([], ["--seed", "1", "--rounds", "1"]):
            audit(true, studies[kind], *options, caught=False)
    for name, source, line, instead, words in FORWARD:
        home = tempfile.mkdtemp(dir=folder)
        program = make_mutant(home, source, line, instead)
        before = len(bad)
        out = run(program, "audit", studies["sphere"], status=3)
        if "CONTRADICTED" not in out or words not in out:
            bad.append(f"{name}: the verdict is wrong:\n{out}")
        print("caught" if len(bad) == before else "FAILED", ":", name)
    for name, source, line, instead, kind in PLANNED:
        home = tempfile.mkdtemp(dir=folder)
        program = make_mutant(home, source, line, instead)
        path, file = os.path.join(home, "s.pricer"), os.path.join(home, "s.yaml")
        open(file, "w").write(forward(kind, 3))
        run(program, "new", path, file)
        done = subprocess.run([program, "plan", path], capture_output=True,
                              text=True)
        good = done.returncode == 1 and "not stored" in done.stderr
        if not good:
            bad.append(f"{name}: {done.stdout}{done.stderr}")
        print("refused" if good else "FAILED", ":", name)


true = os.path.join(build, "pricer")
with tempfile.TemporaryDirectory() as folder:
    check_forward(folder)
with tempfile.TemporaryDirectory() as folder:
    studies = {eps: new_study(true, folder, f"true{eps}", clique(eps))
               for eps in (1, 50)}
    programs = {}
    for name, source, line, instead, eps, arguments in MUTANTS:
        key = (source, instead)
        if key not in programs:
            home = os.path.join(folder, f"mutant{len(programs)}")
            os.mkdir(home)
            programs[key] = make_mutant(home, source, line, instead)
        home = os.path.dirname(programs[key])
        study = new_study(programs[key], home, f"study{eps}", clique(eps))
        before = len(bad)
        audit(programs[key], study, *arguments, "--seed", "1", caught=True)
        for seed in ("1", "2"):
            audit(true, studies[eps], *arguments, "--seed", seed, caught=False)
        print("caught" if len(bad) == before else "FAILED", ":", name)

    # The true program, other observers; then what the paper claims.
    for seed in ("3", "4"):
        audit(true, studies[1], "--seed", seed, caught=False)
        audit(true, studies[50], "--seed", seed, "--eavesdropper", "radio",
              "--rounds", "2", "--trials", "5000", caught=False)
        audit(true, studies[1], "--seed", seed, "--coalition", "0,server",
              caught=False)
        audit(true, studies[1], "--seed", seed, "--protect", "identity",
              "--eavesdropper", "radio", caught=False)
    scenario, weights = nine(folder)
    study = new_study(true, folder, "nine", scenario, "--weights", weights)
    theorem = ["--protect", "identity", "--delta", "1e-3", "--trials", "4000"]
    audit(true, study, *theorem, "--claim", "paper", caught=True)
    audit(true, study, *theorem, "--eps", "0.126", caught=True)
    audit(true, study, *theorem, caught=False)
    classic = new_study(true, folder, "classic", clique(50),
                        "--calibration", "classic")
    audit(true, classic, "--claim", "budget", caught=True)
    audit(true, classic, "--claim", "account", caught=False)

for line in bad:
    print("FAILED:", line)
sys.exit(1 if bad else 0)
