import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { SandboxInfo } from "../../sandbox/sandbox.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";

type Policy = SandboxInfo["network"];

const RULES_MAX = 256;

const Input = z.strictObject({
  allow: z
    .array(z.string().min(1).max(512))
    .max(RULES_MAX)
    .optional()
    .describe('From now on exactly these: ["npm", "api.example.com"], ["all"], or [] for none. Absent: nothing changes'),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  allow: z.array(z.string()).describe('["all"] is every public host, [] is none'),
  at_most: z.array(z.string()).describe("The most that this tool can allow"),
});

export const sandboxNetwork = defineDataTool({
  name: "sandbox_network",
  title: "Show or change what a sandbox may reach",
  description: [
    "Shows which hosts the programs of your sandbox may reach, and with `allow` changes it, also for connections that are open.",
    "A rule is host or host:port, *.example.com for all names below it, or one of the sets npm, pypi, debian, github.",
    "It can allow no more than a person gave the sandbox (`at_most`); ask the person when that is too little.",
  ].join("\n"),
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: Input,
  output: Output,
  async run(context, { allow, sandbox: id }) {
    const sandbox = await context.sandbox(id);
    if (allow) await sandbox.setNetwork(toPolicy(allow), { capped: true });
    const { network, networkCeiling = network } = await sandbox.info();
    return dataResult({ allow: rulesOf(network), at_most: rulesOf(networkCeiling) });
  },
});

function toPolicy(allow: readonly string[]): Policy {
  if (allow.length === 0) return "none";
  return allow.length === 1 && allow[0] === "all" ? "all" : { allow };
}

function rulesOf(policy: Policy): readonly string[] {
  if (policy === "none") return [];
  return policy === "all" ? ["all"] : policy.allow;
}
