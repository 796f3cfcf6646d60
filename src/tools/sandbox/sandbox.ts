import * as z from "zod";
import { defineOneOfSeveral } from "../one-of-several.ts";

const TOOLS = { list: "sandbox_list", create: "sandbox_create", kill: "sandbox_kill", network: "sandbox_network" } as const;

const Input = z.strictObject({
  action: z.enum(["list", "create", "kill", "network"]),
  id: z.string().min(1).max(64).optional().describe("For kill; for network another sandbox than your default one"),
  template: z.string().min(1).max(63).optional().describe("create: what it starts from; default base"),
  timeout_s: z.number().int().min(1).max(31_536_000).optional().describe("create: how long it lives"),
  allow: z.array(z.string().min(1).max(512)).max(256).optional().describe('network: exactly these from now on, as ["npm", "example.com"]'),
});

export const sandboxTool = defineOneOfSeveral({
  name: "sandbox",
  title: "Sandboxes",
  description: [
    "list: your sandboxes. create: one more beside your default one; give its id as `sandbox` to other tools. kill: end one with its files.",
    "network: show what its programs may reach, or change it with allow, to no more than a person gave it.",
  ].join("\n"),
  toolset: "sandbox",
  input: Input,
  toCall({ action, id, ...args }) {
    const named = id !== undefined && { [action === "network" ? "sandbox" : "id"]: id };
    return { name: TOOLS[action], args: { ...args, ...named } };
  },
});
