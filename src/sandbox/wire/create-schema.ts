import * as z from "zod";
import { networkPolicySchema, secretUsesSchema } from "../network-schema.ts";
import type { Limits, Workspace } from "../../runtime/contract/sandbox-spec.ts";
import type { Principal } from "../principal.ts";
import { autoCheckpoint, deadlineAction, schemaOf } from "./fields.ts";
import { labelsSchema, variablesSchema } from "./texts-schema.ts";

const positive = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);

/** Limits as a caller names them. */
export const namedLimitsSchema = schemaOf<Limits>()({
  memoryBytes: positive.optional(),
  cpus: z.number().positive().max(4096).optional(),
  pids: positive.optional(),
  diskBytes: positive.optional(),
  openFiles: positive.optional(),
}).strict();

const workspace = z.strictObject({
  path: z.string().min(1).max(4096).startsWith("/", "must be an absolute path on the server"),
  mode: z.enum(["copy", "ro", "rw"]),
});

/** What a create may say. A field that is not known is refused: a wish that is not understood must not be left out in silence. */
export const createOptionsSchema = z.strictObject({
  runtime: z.string().min(1).max(40).optional().describe("One of those that the configuration offers. Default: the configuration's"),
  name: z
    .string()
    .max(63)
    .optional()
    .describe("A name, which stands for its id wherever that is asked. No two sandboxes of an owner that live may have the same"),
  template: z.string().min(1).max(128).optional().describe("A template, or the id or name of a snapshot. Default `base`"),
  limits: namedLimitsSchema
    .optional()
    .describe("What the caller names is required, unless `bestEffort`. The rest comes from the configuration"),
  bestEffort: z.boolean().optional().describe("Create it also when a named limit cannot be enforced"),
  network: networkPolicySchema.optional().describe("Default: the configuration's, which is `none` unless it says otherwise"),
  networkCeiling: networkPolicySchema.optional().describe("The most that a capped change may give it. Default: `network`"),
  secrets: secretUsesSchema
    .optional()
    .describe("Variables that hold placeholders for secrets of the owner. Needs a network policy that allows their hosts"),
  workspace: workspace.optional().describe("Host folder that it sees as its workspace"),
  project: z
    .string()
    .min(1)
    .max(4096)
    .startsWith("/", "must be an absolute path")
    .optional()
    .describe(
      "Folder of the host for whose work it is made. Agents of that project see it. An agent's own sandboxes are always of its project",
    ),
  metadata: labelsSchema.optional().describe("Labels"),
  env: variablesSchema.optional().describe("Added to the environment of every command"),
  timeoutMs: positive.optional().describe("Lifetime unless it is extended, in milliseconds"),
  onDeadline: deadlineAction
    .optional()
    .describe(
      "What happens at the deadline. kill: it is deleted. pause: it is frozen. stop: its processes end, its files are kept for some time, and it can be started again. Default: kill, and stop for a default sandbox",
    ),
  autoCheckpoint: autoCheckpoint
    .optional()
    .describe("per_call: a checkpoint is taken before each tool call that may write. off: none is. Default: as the configuration says"),
  pauseIdleMs: z
    .number()
    .int()
    .nonnegative()
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      "It is paused when it has been idle for this time, in milliseconds: at least 1000, or 0 for never. The next call, or request to one of its ports, wakes it. Default: the configuration's, which is 0",
    ),
  ephemeral: z.boolean().optional().describe("It ends with the process that made it"),
  root: z
    .boolean()
    .optional()
    .describe(
      "Whether commands may run as root in it, by `user` or by `sudo`. Default: the configuration's, which is true; where that is false, true is refused",
    ),
  nestedFilters: z
    .boolean()
    .optional()
    .describe(
      "Its programs may install seccomp filters of their own, as browsers do. The kernel counts these filters against one limit for the whole machine, so only a caller without a token may ask for it. Default: the configuration's, which is false",
    ),
});

/** A workspace with another path that leads to it, which the person used. Clients of a server name none: only the local user's is shown. */
export interface NamedWorkspace extends Workspace {
  readonly spelling?: string;
}

export type CreateOptions = DeepReadonly<Omit<z.output<typeof createOptionsSchema>, "workspace">> & {
  readonly workspace?: NamedWorkspace;
  /** The configuration names the template: it is the local user's, or the runtime's own. Its start command is not run. Clients of a server name their own alone. */
  readonly isConfigured?: boolean;
  /** In no list, and found by no id: only the handle that its maker gets reaches it. Clients of a server make none. */
  readonly isHidden?: true;
  /** Whose secrets `secrets` names, by the principal's id. Default: its owner's. Clients of a server name nobody. */
  readonly secretsOf?: string;
  /** Who must have been granted its network. Default: its owner. Clients of a server name nobody. */
  readonly networkOf?: Pick<Principal, "grants">;
  /** It reaches no place that is not of the public Internet, whatever its owner may reach. Clients of a server ask for it in vain. */
  readonly isPublicOnly?: boolean;
  /** Volumes of its owner, by id or name, and where they are inside. Clients of a server name none here: E2B's API takes them. */
  readonly volumes?: readonly { readonly volume: string; readonly path: string }[];
  /** Id of a hidden snapshot, whose files it begins with in the place of a template's. Clients of a server name none. */
  readonly hiddenSnapshot?: string;
  /** Afterwards another one like it waits for the next create from that snapshot, with this started in it. Clients of a server name none. */
  readonly keepsReady?: "python" | "nothing";
};

export type DeepReadonly<Value> = Value extends object ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> } : Value;
