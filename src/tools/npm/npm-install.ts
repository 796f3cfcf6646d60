import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import { factLine } from "../output-text.ts";
import { plainText } from "../plain-text.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { NPM_TIMEOUT_MS, npmTimeoutArgument, packageFolderArgument, packagesArgument } from "./npm-arguments.ts";
import type { NpmRun } from "./run-npm.ts";
import { runNpm } from "./run-npm.ts";

const SHOWN_MAX = 4_000;
const count = z.number().int().min(0).catch(0);
const text = z.string().catch("");
const Answer = z.object({ added: count, removed: count, changed: count, error: z.object({ summary: text, detail: text }).optional() });

const Input = z
  .strictObject({
    path: packageFolderArgument(),
    packages: packagesArgument(),
    dev: z.boolean().optional().describe("Add the packages as devDependencies"),
    exact: z.boolean().optional().describe("Write their exact versions into the package.json"),
    clean: z.boolean().optional().describe("Install exactly what the lock file says (npm ci); without packages"),
    ignore_scripts: z.boolean().optional().describe("Do not run the packages' own install scripts"),
    timeout_ms: npmTimeoutArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .refine(({ packages, clean }) => packages === undefined || clean !== true, { path: ["clean"], message: "has no meaning with packages" })
  .refine(({ packages, dev, exact }) => packages !== undefined || (dev !== true && exact !== true), {
    path: ["packages"],
    message: "is needed with dev and exact",
  });

export const npmInstall = defineTool({
  name: "npm_install",
  title: "Install npm packages",
  description: [
    "Installs packages with npm in your sandbox: those that are named are added to the package.json, or what it already lists. Returns how many were",
    "added, removed and changed. Install scripts run inside the sandbox, unless ignore_scripts is set. The sandbox's network policy decides",
    "whether the registry is reached.",
  ].join("\n"),
  toolset: "npm",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  input: Input,
  value: z.object({ added: z.number().int(), removed: z.number().int(), changed: z.number().int(), duration_ms: z.number() }),
  async run(context, { path, packages = [], timeout_ms: timeoutMs = NPM_TIMEOUT_MS, sandbox: id, ...options }) {
    const flags = { "save-dev": options.dev, "save-exact": options.exact, "ignore-scripts": options.ignore_scripts };
    const named = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [`--${name}`] : []));
    const command = options.clean ? "ci" : "install";
    const args = [command, "--json", "--loglevel=http", ...named, ...(packages.length > 0 ? ["--", ...packages] : [])];
    const run = await runNpm(context, { sandbox: await context.sandbox(id), path, args, timeoutMs });
    const { exit, windows, usedUp } = run;
    if (exit.exitCode !== 0) throw failure(command, run);
    const { added, removed, changed } = parseAnswer(windows.stdout.text());
    const installed = { added, removed, changed, duration_ms: Math.round(exit.durationMs) };
    return textResult(installed, factLine(installed, ...usedUp));
  },
});

/** Scripts may print beside it: the answer is the last object. */
function parseAnswer(stdout: string): z.output<typeof Answer> {
  const start = stdout.search(/^\{$/m);
  try {
    return Answer.parse(JSON.parse(stdout.slice(Math.max(0, start))));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    return { added: 0, removed: 0, changed: 0 };
  }
}

function failure(command: string, { exit: { exitCode, timedOut, durationMs }, windows, usedUp }: NpmRun): BelljarError {
  const time = Math.round(durationMs);
  if (timedOut) return new BelljarError("EXEC_TIMEOUT", `npm ${command} was stopped after ${time} ms; give a larger timeout_ms`);
  const { error } = parseAnswer(windows.stdout.text());
  const lines = plainText(windows.stderr.text(), windows.stderr.total)
    .text.split("\n")
    .filter((line) => !line.startsWith("npm http "));
  const said = error ? `${error.summary}\n${error.detail}` : lines.join("\n");
  const how = exitCode === undefined ? "was ended by a signal" : `exited with ${exitCode}`;
  return new BelljarError("COMMAND_FAILED", `${[`npm ${command} ${how}`, ...usedUp].join(", and ")}:\n${said.trim().slice(0, SHOWN_MAX)}`);
}
