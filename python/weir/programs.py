# SPDX-License-Identifier: Apache-2.0
"""Where the programs are: in the build directory that WEIR_BUILD names, else on PATH."""
import os
import shutil

from weir.errors import ProgramMissing

IN_BUILD = {"weir": "control/daemon/weir", "weirctl": "control/ctl/weirctl",
            "weir-host": "control/host/weir-host", "weir-hostd": "control/hostd/weir-hostd",
            "weir-lab": "control/lab/weir-lab",
            "weir-probe": "control/probe/weir-probe",
            "weir-sonic": "control/sonic/bridge/weir-sonic"}


def find(name: str) -> str:
    """The path of a program of Weir, or of the system."""
    build = os.environ.get("WEIR_BUILD")
    if build and name in IN_BUILD:
        path = os.path.abspath(os.path.join(build, IN_BUILD[name]))
        if not os.access(path, os.X_OK):
            raise ProgramMissing(f"WEIR_BUILD is {build}, but {path} is no program; "
                                 f"build it with: ninja -C {build}")
        return path
    found = shutil.which(name)
    if found is None and name in IN_BUILD:
        raise ProgramMissing(f"{name} is not on PATH; install Weir, or set WEIR_BUILD to a build "
                             "directory")
    if found is None:
        raise ProgramMissing(f"{name} is not installed")
    return found
