import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Sandbox as CodeSandbox } from "@e2b/code-interpreter";
import { Git, Sandbox, Secret, TemplateBase, Volume } from "e2b";
import { describe, expect, it } from "vitest";
import { openE2bLab } from "../../support/e2b-lab.ts";
import { trustHere } from "../../support/trust-here.ts";
import { SECRETS, TEMPLATES, VOLUMES } from "./account-trials.ts";
import { COMMAND_HANDLE, COMMANDS, FILES, GIT, PTY, WATCH_HANDLE } from "./guest-trials.ts";
import { CODE, SANDBOX } from "./sandbox-trials.ts";
import type { Method, Trial } from "./trial.ts";

const DOMAIN = "e2b.localhost";
const ROOT = resolve(import.meta.dirname, "../../..");
const isRoot = process.getuid?.() === 0;

/** The classes of the SDKs, each with the trials of its methods. */
const TABLE = [
  { title: "Sandbox", package: "e2b", methods: SANDBOX },
  { title: "sandbox.files", package: "e2b", methods: FILES },
  { title: "A watch of sandbox.files", package: "e2b", methods: WATCH_HANDLE },
  { title: "sandbox.commands", package: "e2b", methods: COMMANDS },
  { title: "A command that runs", package: "e2b", methods: COMMAND_HANDLE },
  { title: "sandbox.pty", package: "e2b", methods: PTY },
  { title: "sandbox.git", package: "e2b", methods: GIT },
  { title: "Template", package: "e2b", methods: TEMPLATES },
  { title: "Secret", package: "e2b", methods: SECRETS },
  { title: "Volume", package: "e2b", methods: VOLUMES },
  { title: "Sandbox of the code interpreter", package: "@e2b/code-interpreter", methods: CODE },
] as const;

/** Methods of the SDK's own use, and those that build a text or an object without asking any server. */
const LOCAL = new Set(
  (
    "createSandbox forkSandbox connectSandbox resolveApiOpts fileUrl defaultTemplate defaultMcpTemplate start runGit runShell getRemoteUrl " +
    "resolveRemoteName withRemoteCredentials hasUpstream toJSON toDockerfile fill iamToken jupyterUrl getJupyterRequestUrl " +
    "includeDiagnostics handleRequestError supportsStdinClose exitCode error stderr stdout"
  ).split(" "),
);

function versionOf(name: string): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8")) as { version: string };
  return version;
}

function ownNames(object: object): readonly string[] {
  return Object.getOwnPropertyNames(object).filter(
    (name) => !["constructor", "length", "name", "prototype"].includes(name) && !LOCAL.has(name),
  );
}

function staticNames(title: string, ...classes: readonly object[]): readonly string[] {
  return classes.flatMap(ownNames).map((name) => `${title}.${name}`);
}

describe("the methods of E2B's SDKs", () => {
  it.each(["URL", "names with TLS"])(
    "are each tried by %s, and the reference says what became of them",
    { timeout: 110_000 },
    async (road) => {
      await using lab = await openE2bLab({ argv: ["--tls-domain", DOMAIN] });
      const domain = `${DOMAIN}:${new URL(lab.url).port}`;
      const common = road === "URL" ? lab.options : { apiKey: lab.key, domain };
      using _trust = trustHere(readFileSync(join(lab.cli.home, "tls", DOMAIN, "ca.pem"), "utf8"));
      const made: CodeSandbox[] = [];
      const make = async (options: object = {}): Promise<CodeSandbox> => {
        const sandbox = await CodeSandbox.create({ ...common, ...options });
        made.push(sandbox);
        return sandbox;
      };
      const trial: Trial = { sandbox: await make(), options: common, domain, canFreeze: isRoot, make };
      assertComplete(trial.sandbox);
      const failed: string[] = [];
      for (const { title, methods } of TABLE) {
        for (const [name, method] of Object.entries(methods) as [string, Method][]) {
          await (typeof method === "function" ? method : method.trial)(trial).catch((error: unknown) =>
            failed.push(`${title}: ${name}: ${String(error)}`),
          );
        }
      }
      expect(failed).toEqual([]);
      await expect(describeTable()).toMatchFileSnapshot(join(ROOT, "docs/reference/e2b.md"));
    },
  );
});

/** A method that a new release of an SDK has is missing in the table until somebody tries it. */
function assertComplete(sandbox: CodeSandbox): void {
  const expected: Readonly<Record<string, readonly string[]>> = {
    Sandbox: [...staticNames("Sandbox", Sandbox, Object.getPrototypeOf(Sandbox) as object), ...ownNames(Sandbox.prototype)],
    "sandbox.files": ownNames(Object.getPrototypeOf(sandbox.files) as object),
    "sandbox.commands": ownNames(Object.getPrototypeOf(sandbox.commands) as object),
    "sandbox.pty": ownNames(Object.getPrototypeOf(sandbox.pty) as object),
    "sandbox.git": ownNames(Git.prototype),
    Template: staticNames("Template", TemplateBase),
    Secret: staticNames("Secret", Secret),
    Volume: [...staticNames("Volume", Volume), ...ownNames(Volume.prototype)],
    "Sandbox of the code interpreter": ownNames(CodeSandbox.prototype),
  };
  for (const { title, methods } of TABLE.filter((row) => expected[row.title] !== undefined))
    expect(Object.keys(methods).toSorted(), title).toEqual([...new Set(expected[title])].toSorted());
}

function describeTable(): string {
  const versions = ["e2b", "@e2b/code-interpreter"].map((name) => `\`${name}\` ${versionOf(name)}`).join(" and ");
  const sections = TABLE.map(({ title, methods }) => {
    const rows = (Object.entries(methods) as [string, Method][]).map(
      ([name, method]) => `| \`${name}\` | ${typeof method === "function" ? "served" : `refused: ${method.refused}`} |`,
    );
    return [`## ${title}`, "", "| method | |", "|---|---|", ...rows].join("\n");
  });
  return `${[
    "# The methods of E2B's SDKs",
    `What becomes of each public method of ${versions} against \`belljar serve\`. A test calls them all, as root and as an ordinary user, and writes this page: \`npx vitest run test/integration/e2b/sdk-methods.test.ts -u\`. The guide is [E2B's SDKs](../guides/e2b.md).`,
    ...sections,
  ].join("\n\n")}\n`;
}
