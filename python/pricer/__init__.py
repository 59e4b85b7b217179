"""pricer: private mean estimation over networks whose links come and go.

    import pricer

    network = pricer.Network.from_scenario("examples/paper.yaml")
    plan = pricer.plan(network)
    print(plan.error.mse_worst_case, pricer.privacy(plan, "server").worst)
    print(pricer.simulate(plan, trials=100000))

The package stands on libpricer and its headers, as they are installed: every
number is the one that the command line prints, to the bit. Long calls release
Python's lock, take `progress` (True, or a function of the fraction done) and
stop at Ctrl-C. What goes wrong is a pricer.Fault with the library's words, which
name the argument and its index.

`pricer.lib` and `pricer.ffi` are the whole C interface, for what is not wrapped.
"""
from ._library import (BusyFault, Fault, FileFault, FormatFault,
                       InfeasibleFault, MemoryFault, StoppedFault, ValueFault,
                       ffi, find_word, lib, version, word)
from .components import Components, power, power_dimension
from .decoding import Decoded, Decoder, Receiver, decode, genie
from .following import Walk, walk
from .forwarding import FORWARD_NODE, ForwardCheck, ForwardPlan
from .network import LINK, NODE, Network, Scenario, Settings
from .participant import (GoneFault, LateFault, NodeFault, NodePlan,
                          NoEstimateFault, Participant, RefusedFault, Result,
                          Round, SpentFault, TimeoutFault)
from .planning import (Calibration, Certificate, Error, Plan, SolveInfo,
                       baseline, calibrate, delta_gaussian, descend,
                       erdos_renyi, plan)
from .privacy import Accountant, PaperBound, Statements, privacy
from .releasing import Release
from .rounds import ForwardRounds, Played, Rounds, Stream
from .simulation import (Outcome, Simulation, read_vectors, simulate,
                         write_npy)
from .study import Study, new_study, open_study

__version__ = version
__all__ = [
    "Accountant", "BusyFault", "Calibration", "Certificate", "Components",
    "Decoded", "Decoder", "Error", "FORWARD_NODE", "Fault", "FileFault",
    "FormatFault", "ForwardCheck", "ForwardPlan", "ForwardRounds",
    "GoneFault", "InfeasibleFault", "LINK", "LateFault", "MemoryFault",
    "NODE", "Network", "NoEstimateFault", "NodeFault", "NodePlan",
    "Outcome", "PaperBound", "Participant", "Plan", "Played", "Receiver",
    "RefusedFault", "Release", "Result", "Round", "Rounds", "Scenario",
    "Settings", "Simulation", "SolveInfo", "SpentFault",
    "Statements", "StoppedFault", "Stream", "Study", "TimeoutFault",
    "ValueFault", "Walk", "baseline", "calibrate", "decode", "delta_gaussian",
    "descend", "erdos_renyi", "ffi", "find_word", "genie", "lib",
    "new_study", "open_study", "plan", "power", "power_dimension",
    "privacy", "read_vectors", "simulate", "version", "walk", "word",
    "write_npy",
]
