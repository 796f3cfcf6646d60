import * as z from "zod";
import { defineOneOfSeveral } from "../one-of-several.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";

const Input = z.strictObject({
  action: z.enum(["list", "open"]),
  port: z.number().int().min(1).max(65_535).optional().describe("For open"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

export const portsTool = defineOneOfSeveral({
  name: "ports",
  title: "Ports and their links",
  description:
    "list: what listens in your sandbox, and the links. open: the URL under which the user's browser reaches a server that you started on a port.",
  toolset: "ports",
  input: Input,
  toCall: ({ action, ...args }) => ({ name: action === "list" ? "list_ports" : "register_port", args }),
});
