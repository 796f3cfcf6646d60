import * as z from "zod";
import { networkPolicySchema, secretUsesSchema } from "../network-schema.ts";
import { autoCheckpoint, dateField, deadlineAction, endReason, limitName, limitsSchema, textsSchema, workspaceSchema } from "./fields.ts";

/** `unresponsive`: it lives, as far as is known, and whoever could tell does not answer. */
export const SANDBOX_STATES = ["running", "paused", "unresponsive", "stopped", "ended"] as const;

/** What a sandbox was made with, which its record and every answer about it hold alike. A field that is added here is in all of them. */
export const madeFields = {
  id: z.string().regex(/^[a-z0-9]{20}$/),
  name: z.string().optional().describe("What its maker calls it. No two sandboxes of an owner that live have the same"),
  owner: z.string().min(1).describe("Id of the principal that it belongs to"),
  runtime: z.string().min(1).describe("Runtime that made it"),
  template: z.string().min(1),
  createdAt: dateField,
  limits: limitsSchema,
  secrets: secretUsesSchema.optional().describe("Secrets that it uses, by the name of the variable, without their values"),
  workspace: workspaceSchema.optional(),
  volumes: z
    .array(z.object({ id: z.string().min(1), name: z.string().min(1), path: z.string().min(1).describe("Where it is inside") }))
    .readonly()
    .optional()
    .describe("Volumes that it sees, which E2B's API makes. Absent: none"),
  tookIn: z.string().min(1).optional().describe("Folder of the host whose files it has as its own, from a whole snapshot"),
  nestedFilters: z.boolean().optional().describe("Whether its programs may install seccomp filters of their own. Absent: no"),
  pauseIdleMs: z.number().positive().optional().describe("It is paused when it has been idle for this time. Absent: never"),
  root: z.boolean().optional().describe("false: no command runs as root in it, and `sudo` is refused. Absent: true"),
  autoCheckpoint: autoCheckpoint
    .optional()
    .describe("per_call: a checkpoint is taken before each tool call that may write. Absent: as the configuration says"),
  metadata: textsSchema.describe("Labels"),
  project: z.string().optional().describe("Folder of the host for whose work it was made"),
  defaultName: z.string().optional().describe("Name of the default sandbox that it is"),
} as const;

/**
 * A sandbox as every answer shows it: REST, the client, the resources and the tools derive from this one schema. Whoever reads an
 * answer leaves out fields that it does not know, and refuses values that it does not know.
 */
export const sandboxSchema = z.object({
  ...madeFields,
  shortId: z.string().describe("The first 8 characters of the id"),
  state: z
    .enum(SANDBOX_STATES)
    .describe("unresponsive: it lives, as far as is known, and does not answer. It can be killed unless its runtime is missing"),
  stateReason: z.string().optional().describe("Why it is unresponsive, or paused without being asked"),
  deadline: dateField.optional().describe("When it ends unless it is extended"),
  onDeadline: deadlineAction.optional().describe("What happens then. Absent where only its keeper knows, and it does not answer"),
  endedAt: dateField.optional().describe("When it ended or was stopped"),
  endReason: endReason.optional().describe("Why it ended or was stopped"),
  keptUntil: dateField
    .optional()
    .describe("Of a stopped one: when it is removed with its files, unless it is started. Absent: it is kept until somebody deletes it"),
  keptBytes: z.number().optional().describe("Of a stopped one: what its files hold, once that was measured"),
  inside: z
    .object({
      home: z.string().min(1).describe("The home of its user"),
      workspace: z.string().min(1).describe("Where it sees its workspace. Without one, its home"),
      cwd: z.string().min(1).describe("Where commands start and relative paths begin"),
    })
    .describe("Folders inside"),
  unenforced: z.array(limitName).readonly().describe("Limits that this host does not enforce"),
  network: networkPolicySchema.describe("What it may reach"),
  networkCeiling: networkPolicySchema.optional().describe("The most that a tool may give it. Absent: the same as `network`"),
});

/** What a caller may know of a sandbox. */
export type SandboxInfo = Readonly<z.output<typeof sandboxSchema>>;
