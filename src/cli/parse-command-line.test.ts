import { describe, expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { parseCommandLine } from "./parse-command-line.ts";

function parse(...argv: string[]) {
  const request = parseCommandLine(argv);
  if (request.kind === "help") throw new Error("help was not asked for");
  return request.call;
}

function problemOf(...argv: string[]): string {
  try {
    parseCommandLine(argv);
  } catch (error) {
    if (error instanceof BelljarError && error.code === "USAGE") return error.message;
    throw error;
  }
  throw new Error("the command line was taken");
}

describe("parseCommandLine", () => {
  it("parses a noun and a verb", () => {
    const call = parse("sandbox", "create", "--json", "--metadata", "a=1", "-m", "b=2");
    expect(call.spec.name).toBe("sandbox create");
    expect({ ...call.options }).toEqual({ json: true, metadata: ["a=1", "b=2"] });
  });

  it("does not change arguments after --", () => {
    const call = parse("exec", "abcdefgh", "--cwd", "/tmp", "--", "ls", "-la", "--", "--help");
    expect(call.positionals).toEqual(["abcdefgh"]);
    expect(call.rest).toEqual(["ls", "-la", "--", "--help"]);
  });

  it("accepts - as a file, for stdin", () => {
    expect(parse("run", "-", "--lang", "python").positionals).toEqual(["-"]);
  });

  it("shows the help of all commands, of a noun and of one command", () => {
    const help = (...argv: string[]) => {
      const request = parseCommandLine(argv);
      return request.kind === "help" ? request.text : "";
    };
    expect(help("--help")).toContain("serve");
    expect(help("sandbox", "--help")).toContain("sandbox kill ID...");
    expect(help("exec", "-h")).toMatch(/^Usage: belljar exec ID -- ARGV/);
  });

  it("gives the version for --version", () => {
    expect(parse("--version").spec.name).toBe("version");
  });

  it.each([
    [[], "No command given"],
    [["fly"], 'Unknown command "fly"'],
    [["sandbox"], "needs one of: create, list, events, info, network, kill, stop, start, extend, diff, apply, ports, port, forward"],
    [["sandbox", "fly"], "expected one of: create"],
    [["run"], "Something is missing: belljar run FILE|-"],
    [["run", "a", "b"], 'Too much is given ("b")'],
    [["doctor", "--", "a"], "takes nothing after --"],
    [["doctor", "--fast"], "Unknown option '--fast'"],
    [["serve", "--port"], "--port"],
    [["doctor", "--json=yes"], "--json"],
  ])("refuses %j and says why", (argv, message) => {
    expect(problemOf(...argv)).toContain(message);
  });

  it("names the right help", () => {
    expect(problemOf("serve", "--fast")).toMatch(/\nSee: belljar serve --help$/);
  });
});
