#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The bundled scenarios: their list, one by its name, those of an installed weir-lab; options.

usage: test_bundle.py WEIR_LAB ROOT [CASE...]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LAB, ROOT = map(os.path.abspath, sys.argv[1:3])


def lab(*args, program=LAB, cwd=ROOT):
    return subprocess.run([program, *args], capture_output=True, text=True, cwd=cwd, timeout=60,
                          check=False)


def want(true, text):
    if not true:
        raise AssertionError(text)


def names(lines):
    return [line.split()[0] for line in lines]


def list_has_a_line_of_80_columns_for_each_scenario():
    lines = lab("list").stdout.splitlines()
    files = pathlib.Path(ROOT, "conf/lab").glob("*.yaml")
    want(sorted(names(lines)) == sorted(p.stem for p in files),
         names(lines))
    for line in lines:
        want(len(line) <= 80, line)
        want(re.search(r"^\S+ {2,}\w.* \S+$", line) and not line.endswith(" ..."), line)
    titles = {line.split(maxsplit=1)[1] for line in lines}
    want(len(titles) == len(lines), "two scenarios have the same title")


def list_filters_by_a_word_of_any_case():
    few = names(lab("list", "XON").stdout.splitlines())
    want("storm-xon" in few and len(few) < 20, few)
    none = lab("list", "no-such-word")
    want(none.returncode == 1 and "no-such-word" in none.stderr, none.stderr)
    want(lab("list", "a", "b").returncode == 2, "two words")


def a_policy_goes_by_its_name_where_no_file_has_it():
    text = pathlib.Path(ROOT, "conf/lab/convergence.yaml").read_text(encoding="ascii")
    own = re.sub(r"(?m)^policy: .*$", "policy: roce", text)
    want(own != text, "the scenario has no policy of its own")
    with tempfile.TemporaryDirectory() as top:
        file = pathlib.Path(top, "own.yaml")
        file.write_text(own, encoding="ascii")
        done = lab("check", str(file))
        want(done.returncode == 0, done.stderr)
        pathlib.Path(top, "roce").write_text("nonsense: 1\n", encoding="ascii")
        done = lab("check", str(file))
        want("/roce:1:1: nonsense: unknown key" in done.stderr, done.stderr)
        file.write_text(own.replace("policy: roce", "policy: rose"), encoding="ascii")
        want("rose: cannot open" in lab("check", str(file)).stderr, "a name that is wrong")


def a_scenario_goes_by_its_name_where_no_file_has_it():
    with tempfile.TemporaryDirectory() as top:
        done = lab("check", "two-senders-pfc", cwd=top)
        want("conf/lab/two-senders-pfc.yaml: two-senders-pfc: " in done.stdout, done.stderr)
        pathlib.Path(top, "two-senders-pfc").write_text("nonsense: 1\n", encoding="ascii")
        done = lab("check", "two-senders-pfc", cwd=top)
        want("two-senders-pfc:1:1: nonsense: unknown key" in done.stderr, done.stderr)


def an_unknown_name_gets_the_nearest():
    done = lab("run", "incats")
    want(done.returncode == 2 and "did you mean incast?" in done.stderr, done.stderr)
    done = lab("run", "no-such-scenario")
    want(done.returncode == 2 and "weir-lab list" in done.stderr, done.stderr)


def what_is_wrong_with_a_command_fits_80_columns():
    for args in (("run", "no-such-scenario-of-any-name-there-could-be-in-the-lab"),
                 ("run", "first", "--set", "a-key-without-a-value-that-is-really-long-as-keys-go"),
                 ("run", "first", "--no-such-option-at-all-in-this-program-or-any-other-one"),
                 ("run",), ("sweep", "first"), ("list", "no such words in any title of the lab"),
                 ("sweep", "first", "--vary", "some.very.long.key.of.the.scenario.but.no.value"),
                 ("no-such-command-of-weir-lab-as-far-as-anybody-who-reads-the-manual-knows",)):
        said = lab(*args).stderr
        want(said and max(map(len, said.splitlines())) <= 80, f"{args}: {said}")


def an_unknown_option_gets_the_nearest_of_its_command():
    done = lab("run", "first", "--ouut=x")
    want(done.returncode == 2 and "did you mean --out?" in done.stderr, done.stderr)
    done = lab("run", "first", "--varyy", "a=b")
    want(done.returncode == 2 and "did you mean" not in done.stderr, done.stderr)


def an_installed_program_finds_the_installed_scenarios():
    with tempfile.TemporaryDirectory() as top:
        program = os.path.join(top, "bin/weir-lab")
        conf = os.path.join(top, "share/weir/conf")
        os.mkdir(os.path.dirname(program))
        shutil.copy(LAB, program)
        shutil.copytree(os.path.join(ROOT, "conf"), conf)
        os.rename(os.path.join(conf, "lab/first.yaml"), os.path.join(conf, "lab/premier.yaml"))
        for args in ["list", "premier"], ["check", "premier"]:
            done = lab(*args, program=program, cwd=top)
            want(done.returncode == 0 and "premier" in done.stdout, done.stderr)


def an_installed_program_finds_the_installed_module_of_sweeps():
    with tempfile.TemporaryDirectory() as top:
        program = os.path.join(top, "bin/weir-lab")
        module = os.path.join(top, "share/weir/lab/sweep.py")
        for path in program, module:
            os.makedirs(os.path.dirname(path))
        shutil.copy(LAB, program)
        pathlib.Path(module).write_text("print('the installed one')\n", encoding="ascii")
        done = lab("sweep", "first", "--vary", "seed=1", program=program)
        want(done.stdout == "the installed one\n", done.stderr)


def a_sweep_without_python_says_what_is_missing():
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run([LAB, "sweep", "first", "--vary", "seed=1"], capture_output=True,
                              text=True, cwd=ROOT, timeout=60, check=False,
                              env={**os.environ, "PATH": empty})
    want(done.returncode == 1 and "install the package python3" in done.stderr, done)


def the_build_installs_the_scenarios():
    build = os.path.dirname(os.path.dirname(os.path.dirname(LAB)))
    plan = json.loads(subprocess.run(["meson", "introspect", build, "--install-plan"], check=True,
                                     capture_output=True, text=True).stdout)
    want(plan["install_subdirs"][os.path.join(ROOT, "conf")]["destination"] ==
         "{datadir}/weir/conf", plan["install_subdirs"])


def the_build_installs_the_modules_of_sweeps():
    build = os.path.dirname(os.path.dirname(os.path.dirname(LAB)))
    plan = json.loads(subprocess.run(["meson", "introspect", build, "--install-plan"], check=True,
                                     capture_output=True, text=True).stdout)
    for name in "plot.py", "runs.py", "sweep.py", "tune.py":
        want(plan["data"][os.path.join(ROOT, "control/lab", name)]["destination"] ==
             "{datadir}/weir/lab/" + name, plan["data"])


CASES = [list_has_a_line_of_80_columns_for_each_scenario, list_filters_by_a_word_of_any_case,
         a_policy_goes_by_its_name_where_no_file_has_it,
         a_scenario_goes_by_its_name_where_no_file_has_it, an_unknown_name_gets_the_nearest,
         what_is_wrong_with_a_command_fits_80_columns,
         an_unknown_option_gets_the_nearest_of_its_command,
         an_installed_program_finds_the_installed_scenarios,
         an_installed_program_finds_the_installed_module_of_sweeps,
         a_sweep_without_python_says_what_is_missing, the_build_installs_the_scenarios,
         the_build_installs_the_modules_of_sweeps]


def main():
    failed = 0
    for case in CASES:
        if sys.argv[3:] and case.__name__ not in sys.argv[3:]:
            continue
        try:
            case()
            print(f"ok   {case.__name__.replace('_', ' ')}")
        except (AssertionError, KeyError, OSError, subprocess.SubprocessError) as e:
            print(f"FAIL {case.__name__.replace('_', ' ')}\n     {e}")
            failed += 1
    return failed != 0


sys.exit(main())
