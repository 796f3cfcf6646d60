import { spawn } from "node:child_process";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { readShellTool, shellCall, type ShellRun } from "../../../src/dynamic/shell-tool.ts";

/** Runs the call with real bash, in an environment with nothing else. */
async function callScript(body: string, args: Readonly<Record<string, unknown>>): Promise<ShellRun> {
  const names = Object.keys(args).map((name) => `"${name}": {}`);
  const code = `# ---\n# { "parameters": { ${names.join(", ")} } }\n# ---\n${body}`;
  const read = readShellTool(code, "greet.sh");
  if (read.kind === "refused") throw new TypeError(read.message);
  const { argv, env, stdin } = shellCall(read.tools[0], code, args);
  const child = spawn(argv[0] ?? "", argv.slice(1), { env: { PATH: "/usr/bin:/bin", ...env }, stdio: "pipe" });
  const ended = once(child, "exit") as Promise<[number]>;
  // A script that reads nothing may be gone before.
  child.stdin.on("error", () => undefined).end(stdin);
  const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr)]);
  const [exitCode] = await ended;
  return { exitCode, stdout: stdout.toString("utf8"), stderr: stderr.toString("utf8") };
}

it("gives a script any strings unchanged, in its variables and on standard input", async () => {
  const text = fc.string({ unit: "binary" }).filter((value) => !value.includes("\0") && !/\p{Surrogate}/u.test(value));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 30 }), async (values) => {
      const args = Object.fromEntries(values.map((value, at) => [`v${at}`, value]));
      const prints = values.map((_value, at) => `printf '%s\\0' "$V${at}"`).join("\n");
      const { stdout, exitCode } = await callScript(`${prints}\ncat`, args);
      expect(exitCode).toBe(0);
      expect(stdout.split("\0")).toEqual([...values, JSON.stringify(args)]);
    }),
    { numRuns: 20 },
  );
});

it.each(["$(id)", "`id`", "'; id; '", '"; id; "', "${PATH}", "*", "-n", "() { :; }; id", "a\nb", "\u{1f600}", "--", "x".repeat(131_000)])(
  "never reads %j as code",
  async (text) => {
    expect(await callScript('printf %s "$TEXT"', { text })).toEqual({ exitCode: 0, stdout: text, stderr: "" });
  },
);

it("gives a string that no variable can hold on standard input alone", async () => {
  const text = 'x"\n'.repeat(3_000_000);
  const { stdout } = await callScript('printf "%s:" "${TEXT-unset}"; cat', { text });
  expect(stdout === `unset:${JSON.stringify({ text })}`).toBe(true);
});

it("names the script's own lines in the errors of bash", async () => {
  expect(await callScript("true\nnot-a-command\nexit 7", {})).toEqual({
    exitCode: 7,
    stdout: "",
    stderr: "greet.sh: line 5: not-a-command: command not found\n",
  });
});
