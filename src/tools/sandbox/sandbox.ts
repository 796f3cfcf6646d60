import * as z from "zod";
import { defineOneOfSeveral } from "../one-of-several.ts";

const TOOLS = {
  list: "sandbox_list",
  create: "sandbox_create",
  fork: "sandbox_fork",
  merge: "sandbox_merge",
  snapshot: "sandbox_snapshot",
  diff: "sandbox_diff",
  log: "sandbox_log",
  network: "sandbox_network",
  kill: "sandbox_kill",
} as const;

const ACTIONS = Object.keys(TOOLS) as (keyof typeof TOOLS)[];

const Input = z.strictObject({
  action: z.enum(ACTIONS),
  id: z.string().min(1).max(64).optional().describe("Default: your default sandbox. kill needs one"),
  template: z.string().min(1).max(63).optional().describe("create: what it starts from; default base"),
  timeout_s: z.number().int().min(1).max(31_536_000).optional().describe("create, fork: how long it lives"),
  snapshot_id: z.string().min(1).max(64).optional().describe("fork: start from this instead"),
  from_id: z.string().min(1).max(64).optional().describe("merge: the fork"),
  allow: z.array(z.string().min(1).max(512)).max(256).optional().describe('network: exactly these from now on, as ["npm", "example.com"]'),
});

export const sandboxTool = defineOneOfSeveral({
  name: "sandbox",
  title: "Sandboxes",
  description: [
    "list: your sandboxes. create: one more beside your default one; give its id as `sandbox` to other tools. kill: end one with its files.",
    "fork: one with the same files, to try an idea. merge: bring a fork's changes back. snapshot: keep its files for later forks.",
    "diff: what changed since its last checkpoint. log: its checkpoints.",
    "network: show what its programs may reach, or change it with allow, to no more than a person gave it.",
  ].join("\n"),
  toolset: "sandbox",
  input: Input,
  toCall({ action, id, ...args }) {
    const named = id !== undefined && { [action === "network" ? "sandbox" : "id"]: id };
    return { name: TOOLS[action], args: { ...args, ...named } };
  },
});
