#!/usr/bin/env python3
"""Writes the program's man page, out of what the program says of itself, to stdout.

    packaging/man.py PROGRAM
"""

import re
import subprocess
import sys


def told(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def escaped(text):
    """As roff shows it: hyphens that can be copied, no line that looks like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def preformatted(text):
    return [".nf", escaped(text.strip("\n")), ".fi"]


def main(program):
    version = told(program, "--version").split()[-1]
    general = told(program, "--help")
    summary = general.splitlines()[0]
    commands = re.findall(r"^  (\w+) {2,}", general.split("Subcommands:")[1].split("Exit status:")[0], flags=re.M)
    statuses = general.split("Exit status:\n")[1]
    out = [f'.TH CKITCHEN 1 "" "ckitchen {version}" "User Commands"', ".SH NAME",
           "ckitchen \\- quantize checkpoints of diffusion and video models, and run what they need", ".SH SYNOPSIS",
           ".B ckitchen", "COMMAND [OPTION]...", ".SH DESCRIPTION", escaped(summary), ".SH COMMANDS"]
    for command in commands:
        description, _, rest = told(program, command, "--help").partition("\nUsage: ")
        out += [f".SS {command}", escaped(description), ".PP", *preformatted("Usage: " + rest)]
    out += [".SH EXIT STATUS", *preformatted(statuses), ".SH ENVIRONMENT",
            "The library's variables, all of which begin with CKITCHEN_, are listed in the README of libckitchen\\-dev."]
    print("\n".join(out))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    main(sys.argv[1])
