import type { CommandSpec } from "../command.ts";
import { LIMIT_OPTIONS } from "../limit-options.ts";
import { COMMAND_TIMEOUT, CWD, ENV, JSON_OPTION, NETWORK, ONE, USER, WORKSPACE } from "./shared-options.ts";

/** Commands that run something in a sandbox. */
export const PROGRAMS: readonly CommandSpec[] = [
  {
    name: "run",
    summary: "Run one program in a fresh sandbox",
    usage: "FILE|- [ARGS...]",
    positionals: ONE,
    rest: true,
    options: {
      lang: {
        type: "string",
        short: "l",
        value: "LANGUAGE",
        description: "python, javascript, typescript, bash, go, c, c++ ... (default: by the file's name)",
      },
      workspace: WORKSPACE,
      network: NETWORK,
      memory: LIMIT_OPTIONS.memory,
      cpus: LIMIT_OPTIONS.cpus,
      env: ENV,
      timeout: COMMAND_TIMEOUT,
      json: JSON_OPTION,
    },
    details:
      "With --workspace DIR it runs in that folder, beside its neighbours, and the files that it leaves are written to DIR at its end; " +
      "with :copy they are not, with :ro it can leave none, with :rw they are written at once. Its exit code is the program's own, 128 + N when signal N ended it, 125 when it could not be run or ran too long.",
    failureCode: 125,
    load: () => import("../commands/run.ts"),
  },
  {
    name: "exec",
    summary: "Run a command in a live sandbox",
    usage: "ID [--] ARGV...",
    positionals: ONE,
    rest: true,
    options: {
      interactive: { type: "boolean", short: "i", description: "Carry stdin to the command, which is done without it too" },
      tty: { type: "boolean", short: "t", description: "Give the command a terminal: exec -it ID bash" },
      cwd: CWD,
      env: ENV,
      user: USER,
      timeout: COMMAND_TIMEOUT,
    },
    details: "Its exit code is the command's own, 128 + N when signal N ended it, 125 when it could not be run or ran too long.",
    failureCode: 125,
    ownSignals: true,
    load: () => import("../commands/exec.ts"),
  },
  {
    name: "shell",
    summary: "Open a terminal in a sandbox. Without ID it is a fresh sandbox, which ends with the terminal",
    usage: "[ID]",
    positionals: { min: 0, max: 1 },
    options: { workspace: WORKSPACE, network: NETWORK, user: USER },
    failureCode: 125,
    load: () => import("../commands/shell.ts"),
  },
];
