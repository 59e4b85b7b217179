"""Mutants of the accounts of privacy that their tests must catch.

Each mutant is one expression of one source file of lib/privacy, or of the room
that is named, replaced in a copy, compiled with the build's own flags but for
less optimisation and linked into the tests ahead of the static library. At least
one of the named tests must fail with it; without it all of them pass, which the
tests' own runs show. Argument: the build folder, and the numbers of some mutants
for those alone.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

build = os.path.realpath(sys.argv[1])
commands = {
    os.path.basename(entry["output"]): shlex.split(entry["command"])
    for entry in json.load(open(os.path.join(build, "compile_commands.json")))
    if "libpricer_core.a.p" in entry["output"]
}

# A test that fails ends there: the rest of it says nothing new.
AT_ONCE = {**os.environ, "CMOCKA_TEST_ABORT": "1"}

# What is wrong, where, what stands there, what instead, and the tests to ask,
# the quickest first.
MUTANTS = [
    ("the line is not halved at its beginning", "loss_line.c",
     "n == 0 ? scale : 2 * scale", "2 * scale", ["loss_line"]),
    ("the tail of the line is forgotten", "loss_line.c",
     "error + pri_line_tail(line, eps, line->count)", "error", ["loss_line"]),
    ("the terms before the first are forgotten below", "loss_line.c",
     "sum - error - line->mass / expm1(turns) * PRI_SLACK -", "sum - error -",
     ["loss_line"]),
    ("the terms beyond are forgotten below", "loss_line.c",
     "* PRI_SLACK -\n                 pri_line_beyond(line, eps, line->step)",
     "* PRI_SLACK", ["loss_line"]),
    ("an exponent is rounded where it is large", "loss_line.c",
     "top - eps * creall(line->slope[n])",
     "top - (double)(eps * creall(line->slope[n]))", ["loss_line"]),
    ("an angle is right within some units", "loss_line.c",
     "far = fabs(re) + fabs(im)", "far = fabs(re)", ["loss_line"]),
    ("variances are exact", "factor.c", "group->mean_off + 1.01", "0",
     ["factor"]),
    ("what is always there is added up with rounding", "observe/view.c",
     "long double base, long double unit", "double base, long double unit",
     ["extremes"]),
    ("rounding is not charged above", "loss_line.c",
     "sum + error < line->mass ? fmax(sum + error, 0) : line->mass",
     "sum - 2 * error < line->mass ? fmax(sum - 2 * error, 0) : line->mass",
     ["loss_line", "extremes"]),
    ("only the first shell counts", "loss_line.c",
     "at != NULL; at = at->next", "at == line; at = at->next",
     ["shells"]),
    ("a shell without nodes costs nothing", "loss_line.c",
     "if (side == PRI_ABOVE)\n            return fmin(", "if (side == PRI_ABOVE)\n            return 0 * fmin(",
     ["shells", "extremes"]),
    ("the lower end forgets what is not as good as bare", "loss_line.c",
     "exp(eps / 2) * line->left * PRI_SLACK", "0", ["shells"]),
    ("the remainder of groups is not charged", "factor.c",
     "return third * group->spread", "return 0 * third * group->spread",
     ["factor", "data"]),
    ("groups of an identity lose their curvature", "factor.c",
     "*x = 1 + kr * spread / 2;", "*x = 1;", ["factor"]),
    ("with against without is without against with", "factor.c",
     "first ? r / (1 + r) : -r};", "first ? r / (1 + r) : r};",
     ["factor", "identity"]),
    ("the dimension counts half", "factor.c",
     "g.re -= d / 2 *", "g.re -= d / 4 *", ["factor", "identity"]),
    ("quiet groups count as shown", "factor.c",
     "sum[k >= law->count - factor->quiet] +=",
     "sum[0] +=", ["shells", "factor"]),
    ("e^(-L/2) at the loud end of a group", "factor.c",
     "at->sigma < 0 ? group->high : group->low", "group->low",
     ["factor"]),
    ("many packets count as one", "link.c",
     "pri_rounds_law(rounds, p,", "pri_rounds_law(1, p,", ["link"]),
    ("what is lost in adding up a line is charged for the sum alone",
     "loss_line.c", "long double total = 0, turn",
     "double total = 0; long double turn",
     ["loss_line"]),
    ("a blurred line is not moved", "bracket.c",
     "line->shift = part * scale * (1 + 1e-9);",
     "line->shift = 0;", ["link"]),
    ("a blurred line is that of the law itself", "loss_line.c",
     "line->value[n] *= blur;", "", ["loss_line", "link"]),
    ("beyond its end a blurred line is next to nothing", "loss_line.c",
     "return falls ? log(most / cabs(q)) : 0;", "return -60;", ["loss_line"]),
    ("what is as good as bare is worth 1 below", "data.c",
     "fmin(task->saddle.eps, found->eps));", "-1);",
     ["shells", "data", "extremes"]),
    ("beyond a place on the line e^g is what it is there", "factor.c",
     "size * exp(first * (group->high - group->low))", "size / 2", ["factor"]),
    ("a noise that stays counts as present", "law.c",
     "append(to, moved(from->group[stay++], 0, absent));",
     "append(to, moved(from->group[stay++], size, absent));",
     ["factor", "data"]),
    ("one round too few", "model.c",
     "scale * power(before + now, times) - nothing",
     "scale * power(before + now, times - 1) - nothing",
     ["shells", "data", "extremes"]),
    ("the rest is not multiplied", "model.c",
     "rest->value[n] = before * quiet->value[n];",
     "rest->value[n] = quiet->value[n];", ["data", "coupling"]),
    ("an error of the rest is not charged", "model.c",
     "(off + (rounds - 1) * (size + off) * off_rest / whole)", "off * 0",
     ["data", "coupling", "grid"]),
    ("the mass of a shell is that of one round", "model.c",
     "*mass = fmin(exp(pri_sums_log(model, 0, false)), 1);",
     "*mass = fmin(exp(pri_sums_log(model, 0, false)) / (double)model->rounds, 1);",
     ["shells", "extremes"]),
    ("the floor forgets that links are coupled", "bare.c",
     "*absent = x ? up : down;", "*absent = second;", ["extremes"]),
    ("a pair of cells is independent", "observe/view.c",
     "chance,\n                     pair->joint, cell);",
     "chance, pri_first(view, pair) * view->noise[pair->second].chance, cell);",
     ["data", "coupling"]),
    ("all rounds see a node that is rarely seen", "data.c",
     "(double)model->rounds * seen <= task->delta",
     "seen <= task->delta", ["shells", "data"]),
    ("one sum is what its quiet end shows", "bare.c",
     "few->side == PRI_ABOVE ? group->low * (1 - slack)",
     "few->side == PRI_ABOVE ? group->high * (1 - slack)",
     ["identity", "shells"]),
    ("coupled sums stay at the real end of the line", "exact.c",
     "pri_coupling_advance(coupling);", ";", ["coupling"]),
]


def replace_after(words, flag, value):
    words[words.index(flag) + 1] = value


def compile_mutant(folder, source, there, instead):
    source = source if "/" in source else f"privacy/{source}"
    command = list(commands[f"lib_{source.replace('/', '_')}.o"])
    original = os.path.join(build, command[-1])
    text = open(original).read()
    if text.count(there) != 1:
        sys.exit(f"lib/{source} holds '{there}' {text.count(there)} "
                 "times, not once: tell this script where it went")
    mutant = os.path.join(folder, os.path.basename(source))
    open(mutant, "w").write(text.replace(there, instead))
    result = os.path.join(folder, "mutant.o")
    command[-1] = mutant
    replace_after(command, "-o", result)
    for flag in ("-MQ", "-MF"):
        replace_after(command, flag, os.path.join(folder, "mutant.d"))
    at = command.index("-o")
    command[at:at] = ["-iquote", os.path.dirname(original), "-w", "-O1"]
    subprocess.run(command, cwd=build, check=True)
    return result


def link(folder, test, mutant):
    words = shlex.split(subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "-s",
         f"tests/test_privacy_{test}"],
        capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    program = os.path.join(folder, test)
    replace_after(words, "-o", program)
    words.insert(words.index("libpricer_core.a"), mutant)
    subprocess.run(words, cwd=build, check=True)
    return program


def caught_by(folder, mutant, tests):
    for test in tests:
        try:
            done = subprocess.run([link(folder, test, mutant)],
                                  capture_output=True, timeout=300,
                                  env=AT_ONCE)
        except subprocess.TimeoutExpired:
            return test
        if done.returncode != 0:
            return test
    return None


def main():
    some = [int(word) for word in sys.argv[2:]]
    alive = []
    for number, (wrong, source, there, instead, tests) in enumerate(MUTANTS):
        if some and number not in some:
            continue
        with tempfile.TemporaryDirectory() as folder:
            test = caught_by(
                folder, compile_mutant(folder, source, there, instead), tests)
        print(f"{number:3} {wrong}: {test or 'ALIVE'}", flush=True)
        if test is None:
            alive.append(wrong)
    if alive:
        sys.exit(f"{len(alive)} mutants live")


main()
