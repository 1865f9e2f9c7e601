"""`postrender completion`, `schema` and `version`: what the program says about itself.

A shell runs the program with COMPLETION_VARIABLE, and click prints the completions.
"""

from __future__ import annotations

import os

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
    split_arg_string,
)

from postrender.cli.arguments import are_options, with_command_first
from postrender.cli.click_app import app
from postrender.cli.options import COMMANDS, COMPLETION_VARIABLE, Argument, command, load
from postrender.cli.report import DONE, unwritable_error, write
from postrender.cli.version import version_text
from postrender.text import packaged_text

# The JSON Schema of each command with JSON output.
_SCHEMAS = {
    "check": "cli/check.schema.json",
    "diff": "diff/diff.schema.json",
    "explain": "explain/explain.schema.json",
    "status": "status/status.schema.json",
}


@command(
    "schema",
    "Print the JSON Schema of a command.",
    details="The schema describes the output of the command with --output=json.",
    example="postrender schema diff > diff.schema.json",
    arguments=(Argument("command", "|".join(_SCHEMAS), choices=tuple(_SCHEMAS)),),
)
def schema(command: str) -> int:
    write([packaged_text(_SCHEMAS[command])])
    return DONE


@command("version", "Print the version and the commit.", example="postrender version")
def version() -> int:
    write([f"{version_text()}\n"])
    return DONE


# ---------------------------------------------------------------------------------- completions


class _Completion(ShellComplete):
    """Completions of lines whose command is absent, or comes after its options."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        group = f"{args[-1]} " if args else ""
        if group and _fits(args[:-1], group):
            return super().get_completions(args[-1:], incomplete)
        words = with_command_first(args) if args or incomplete.startswith("-") else args
        found = super().get_completions(words, incomplete)
        if len(words) > len(args):  # the command `render`, which needs no name
            first = super().get_completions([], incomplete)
            found += [item for item in first if not args or _fits(args, str(item.value))]
        return list({item.value: item for item in found}.values())


def _fits(options: list[str], start: str) -> bool:
    """Whether words are options of a command with this start, or of `render`."""
    names = [name for name in COMMANDS if name.startswith(start)]
    return any(are_options(options, load(name)) for name in names and (*names, "render"))


class _Bash(_Completion, BashComplete):
    """bash splits words at `=`, so click's script passes `--output=json` as three words."""

    source_template = BashComplete.source_template.replace(
        '"${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD', '"${COMP_LINE:0:COMP_POINT}"'
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        incomplete = "" if line[-1:].isspace() else words.pop()
        return words[1:], incomplete


class _Zsh(_Completion, ZshComplete):
    """click's script needs compdef, which zsh has only after compinit, and breaks `--name=`."""

    source_template = (
        ZshComplete.source_template.replace(
            "    compdef %(complete_func)s",
            "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
            "    compdef %(complete_func)s",
        )
        .replace(
            "    for type key descr",
            '    local prefix=""\n    [[ "$PREFIX" == --*=* ]] && prefix="${PREFIX%%%%=*}="\n'
            "    for type key descr",
        )
        .replace('+=("$key"', '+=("$prefix$key"')
        .replace("_path_files -f", 'compset -P 1 "$prefix"; _path_files -f')
    )


class _Fish(_Completion, FishComplete):
    """click's script splits the help of a completion at its first comma, and breaks `--name=`."""

    source_template = (
        FishComplete.source_template.replace(
            'string split "," $completion', 'string split --max 1 "," $completion'
        )
        .replace(
            "    for completion in",
            "    set -l prefix (string match --regex -- '^--[^=]*=' (commandline -t));\n"
            "    for completion in",
        )
        .replace("echo $metadata[2]", 'echo "$prefix"$metadata[2]')
        .replace(
            "__fish_complete_path $metadata[2];",
            'for path in (__fish_complete_path $metadata[2]); echo "$prefix"$path; end;',
        )
    )


_SHELLS = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def complete(instruction: str) -> int:
    """Print the completions that a script asks for; instruction: the value of the variable."""
    for shell in _SHELLS.values():
        add_completion_class(shell)
    try:
        return shell_complete(app(), {}, "postrender", COMPLETION_VARIABLE, instruction)
    except OSError as error:
        raise unwritable_error(error) from None


@command(
    "completion",
    "Print a completion script for a shell.",
    details=(
        "Load the script in ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish. bash must be 4.4 or "
        "later."
    ),
    example='eval "$(postrender completion bash)"   # in ~/.bashrc',
    arguments=(Argument("shell", "|".join(_SHELLS), choices=tuple(_SHELLS)),),
)
def completion(shell: str) -> int:
    write([_SHELLS[shell](app(), {}, "postrender", COMPLETION_VARIABLE).source()])
    return DONE
