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

  it("takes --sandbox before the command with its name, and after those of client alone", () => {
    expect(parse("--sandbox", "box", "mcp").options["sandbox"]).toBe("box");
    expect(parse("client", "list", "--sandbox", "one")).toMatchObject({ positionals: ["one"], options: { sandbox: true } });
  });

  it("takes an option whose value may be left out, and then never the next argument as its value", () => {
    expect(parse("token", "create", "--e2b", "dev")).toMatchObject({ positionals: ["dev"], options: { e2b: "alone" } });
    expect(parse("token", "create", "dev", "--e2b=also")).toMatchObject({ positionals: ["dev"], options: { e2b: "also" } });
    expect(problemOf("token", "create", "--e2b", "also", "dev")).toContain("Too much is given");
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
    expect(help()).toBe(help("--help"));
    expect(help("sandbox", "--help")).toContain("sandbox kill ID...");
    expect(help("exec", "-h")).toMatch(/^Usage: belljar exec ID \[--\] ARGV/);
    expect(help("-h", "exec")).toBe(help("exec", "-h"));
    expect(help("help", "exec")).toBe(help("exec", "-h"));
    expect(help("help", "sandbox")).toBe(help("sandbox", "--help"));
    expect(help("help", "sandbox", "kill")).toBe(help("kill", "--help"));
    expect(help("help")).toBe(help("--help"));
  });

  it("takes options before, between and after the command's words", () => {
    const whole = { name: "sandbox list", options: { json: true, home: "/h", state: ["running"] } };
    for (const argv of [
      ["--json", "--home", "/h", "sandbox", "--state", "running", "list"],
      ["--home=/h", "sandbox", "list", "--json", "--state=running"],
      ["sandbox", "--home", "/h", "list", "--state", "running", "--json"],
    ]) {
      const call = parse(...argv);
      expect({ name: call.spec.name, options: { ...call.options } }).toEqual(whole);
    }
  });

  it("takes no option's value for the command", () => {
    expect(parse("--home", "sandbox", "doctor").spec.name).toBe("doctor");
    expect(parse("-m", "list=1", "list").options["metadata"]).toEqual(["list=1"]);
  });

  it("finds a sandbox's command without its noun, and by the names that people know", () => {
    for (const [word, name] of [
      ["list", "sandbox list"],
      ["ls", "sandbox list"],
      ["ps", "sandbox list"],
      ["rm", "sandbox kill"],
      ["inspect", "sandbox info"],
    ] as const)
      expect(parse(word, ...(word === "rm" || word === "inspect" ? ["a"] : [])).spec.name).toBe(name);
    for (const policy of [["npm"], ["--allow", "npm"]]) expect(parse("network", "web", ...policy).spec.name).toBe("sandbox network");
    expect(parse("network", "web", "npm").positionals).toEqual(["web", "npm"]);
    expect(parse("network", "sets", "npm")).toMatchObject({ spec: { name: "network sets" }, positionals: ["npm"] });
    expect(parse("diff").spec.name).toBe("diff");
    expect(parse("sandbox", "rm", "a").spec.name).toBe("sandbox kill");
  });

  it("takes a program and its arguments without --", () => {
    const call = parse("exec", "--cwd", "/tmp", "web", "-e", "A=1", "git", "log", "-n", "1", "--", "file", "--help");
    expect(call.positionals).toEqual(["web"]);
    expect({ ...call.options }).toEqual({ cwd: "/tmp", env: ["A=1"] });
    expect(call.rest).toEqual(["git", "log", "-n", "1", "--", "file", "--help"]);
    expect(parse("run", "a.py", "x", "--json").rest).toEqual(["x", "--json"]);
  });

  it("gives the version for --version", () => {
    expect(parse("--version").spec.name).toBe("version");
  });

  it.each([
    [["fly"], 'Unknown command "fly"'],
    [
      ["sandbox"],
      "needs one of: create, list, events, info, stats, logs, network, kill, pause, resume, stop, start, extend, diff, apply, ports, port, forward",
    ],
    [["sandbox", "fly"], "expected one of: create"],
    [["network"], '"network" needs one of: sets, or the ID of a sandbox'],
    [["create", "--cpus", "-1"], "--cpus needs a value; one that begins with a dash is written --cpus=VALUE"],
    [["run"], "Something is missing: belljar run FILE|-"],
    [["sandbox", "info", "a", "b"], 'Too much is given ("b")'],
    [["lsit"], 'Unknown command "lsit". Did you mean "list"?'],
    [["sandbox", "kil"], 'Did you mean "kill"?'],
    [["help", "exce"], 'Did you mean "exec"?'],
    [["list", "--jsno"], "Unknown option '--jsno'. Did you mean \"--json\"?"],
    [["--json"], 'No command given beside "--json"'],
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
