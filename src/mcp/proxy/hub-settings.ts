import * as z from "zod";
import type { Listing } from "../../catalog/unlisted.ts";
import type { BelljarError } from "../../errors.ts";
import { slipOf } from "../../files/suggest.ts";
import { networkPolicySchema } from "../../sandbox/network-schema.ts";
import type { CreateOptions } from "../../sandbox/sandbox.ts";
import { createOptionsSchema } from "../../sandbox/wire/create-schema.ts";
import { entryError } from "../client/config/read-entry.ts";
import type { ServerConfig } from "../client/config/server-config.ts";

/** What an entry says to the hub, beside what it says to every host. */
export interface HubSettings {
  /** `none`: it runs on the host, as hosts run it. */
  readonly isolation: "sandbox" | "none";
  readonly network: NonNullable<CreateOptions["network"]>;
  /** Of a server over HTTP whose entry says where requests to it may lead. */
  readonly reaches?: NonNullable<CreateOptions["network"]> | undefined;
  readonly limits?: CreateOptions["limits"];
  readonly template?: string | undefined;
  /** Of an entry with `docker run`: its sandbox begins with the template of this image. */
  readonly image?: ImageLaunch | undefined;
  /** By the name of a secret of the owner's. */
  readonly secrets?: Readonly<Record<string, ServerSecret>>;
  /** The folder of the host that it sees. */
  readonly mount?: { readonly host: string; readonly mode: "copy" | "ro" | "rw" } | undefined;
  /** The upstream's names of the tools that callers get. Absent: all. */
  readonly select?: ReadonlySet<string> | undefined;
  /** Which calls a person approves, each by itself: `destructive` those of tools that do not say that they only read, or destroy nothing. */
  readonly approve: "always" | "destructive" | "never";
  /** Whether lists show its tools. */
  readonly list: Listing;
  /** What callers see in the place of an upstream's name. */
  readonly rename: Readonly<Record<string, string>>;
  /** Its one instance serves all callers. Absent: each client of a caller has its own. */
  readonly session?: "shared" | undefined;
  /** `strict`: a definition that has changed since it was approved is blocked. Absent: its change is told. */
  readonly pin?: "strict" | undefined;
}

export interface ServerSecret {
  /** The variable that has it. */
  readonly env: string;
  /** To these hosts alone the value goes, in the place of a placeholder. Absent: the server gets the value itself. */
  readonly hosts?: readonly string[] | undefined;
}

/** What of an image is run, as `docker run` would. */
export interface ImageLaunch {
  readonly image: string;
  /** In the place of the image's own arguments, behind its entry point. */
  readonly args: readonly string[];
}

/** Where the one folder is inside. */
export const MOUNT_PATH = "/workspace";

/** Fields that say something of a server's sandbox alone. */
const OF_A_SANDBOX = ["network", "limits", "template", "mounts", "secrets"];
const NETWORK = 'must be "none", "all" or {"allow": ["HOST", ...]}';
const NAMES_MAX = 10_000;
const SECRETS_MAX = 64;
const toolName = z.string().min(1).max(1_000);
const mount = z.strictObject({
  host: z.string().min(1).max(4_096).startsWith("/", "must be an absolute path of this machine"),
  path: z.literal(MOUNT_PATH, { error: `must be ${MOUNT_PATH}, where a sandbox has its one folder of the host` }).default(MOUNT_PATH),
  mode: z.enum(["copy", "ro", "rw"]).default("ro"),
});

const secret = z
  .strictObject({
    env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of a variable"),
    hosts: z.array(z.string().min(1).max(300)).min(1).max(64).optional(),
    deliver: z.enum(["placeholder", "raw"]).default("placeholder"),
  })
  .refine(
    ({ hosts, deliver }) => (hosts === undefined) === (deliver === "raw"),
    'names the hosts that it is for, or has deliver: "raw", and the server gets the value itself',
  );

/** Other keys are the hosts', and read elsewhere. */
const settingsSchema = z.looseObject({
  isolation: z.enum(["sandbox", "none"]).default("sandbox"),
  network: networkPolicySchema.default("none"),
  limits: createOptionsSchema.shape.limits,
  template: createOptionsSchema.shape.template,
  mounts: z.array(mount).max(1, "a sandbox has one folder of the host").default([]),
  secrets: z
    .record(z.string().min(1).max(64), secret)
    .refine((uses) => Object.keys(uses).length <= SECRETS_MAX, `at most ${SECRETS_MAX} secrets`)
    .refine((uses) => new Set(Object.values(uses).map(({ env }) => env)).size === Object.keys(uses).length, "two are in one variable")
    .default({}),
  select: z.array(toolName).max(NAMES_MAX).optional(),
  approve: z.enum(["always", "destructive", "never"]).default("never"),
  list: z.enum(["all", "search", "auto"]).default("auto"),
  rename: z
    .record(toolName, toolName)
    .refine((names) => Object.keys(names).length <= NAMES_MAX, `at most ${NAMES_MAX} names`)
    .default({}),
  session: z.literal("shared", { error: 'must be "shared", or be left out' }).optional(),
  pin: z.literal("strict", { error: 'must be "strict", or be left out' }).optional(),
});

/** Throws `CONFIG_INVALID`, with the file, the server and the field. */
export function readHubSettings(entry: unknown, place: { readonly file: string; readonly name: string }): HubSettings {
  const { data, error } = settingsSchema.safeParse(entry);
  if (!data) throw settingsError(error, place);
  assertNoSlip(data, place);
  const { isolation, network, limits, template, mounts, secrets, select, rename, list, approve, session, pin } = data;
  const [only] = mounts;
  return {
    isolation,
    network,
    ...(limits && { limits }),
    template,
    ...(Object.keys(secrets).length > 0 && { secrets: usesOf(secrets) }),
    mount: only && { host: only.host, mode: only.mode },
    select: select && new Set(select),
    list,
    approve,
    rename,
    ...(session && { session }),
    ...(pin && { pin }),
  };
}

function usesOf(secrets: Readonly<Record<string, z.output<typeof secret>>>): HubSettings["secrets"] {
  return Object.fromEntries(Object.entries(secrets).map(([name, { env, hosts }]) => [name, { env, hosts }]));
}

/** Throws `CONFIG_INVALID` for a key that is almost one of Belljar's: whoever wrote it believes that it confines the server. */
function assertNoSlip(entry: Readonly<Record<string, unknown>>, place: { readonly file: string; readonly name: string }): void {
  // Without `session` callers are told apart, and `version` is another host's.
  const names = Object.keys(settingsSchema.shape).filter((name) => name !== "session");
  for (const key of Object.keys(entry)) {
    const meant = names.includes(key) ? undefined : slipOf(key, names);
    if (meant !== undefined) throw entryError(place, key, `is no field. Did you mean "${meant}"?`);
  }
}

/** The settings of a server over HTTP, whose entry may say where requests to it lead. */
export function withReach(settings: HubSettings, { kind }: Pick<ServerConfig, "kind">, entry: unknown): HubSettings {
  return kind !== "stdio" && isSaid(entry, "network") ? { ...settings, reaches: settings.network } : settings;
}

/** Throws `CONFIG_INVALID` for a field that looks as if it confined a server which runs in no sandbox. */
export function assertHasEffect(
  { kind }: Pick<ServerConfig, "kind">,
  { isolation }: HubSettings,
  entry: unknown,
  place: { readonly file: string; readonly name: string },
): void {
  if (kind === "stdio" && isolation === "sandbox") return;
  const idle = OF_A_SANDBOX.find((field) => isSaid(entry, field) && !(field === "network" && kind !== "stdio"));
  if (idle !== undefined) throw entryError(place, idle, "has no effect, for this server runs in no sandbox: leave it out");
}

function isSaid(entry: unknown, field: string): boolean {
  return typeof entry === "object" && entry !== null && Object.hasOwn(entry, field);
}

function settingsError(error: z.ZodError | undefined, place: { readonly file: string; readonly name: string }): BelljarError {
  const [issue] = error?.issues ?? [];
  const field = issue?.path.map(String).join(".") ?? "";
  const message = issue?.code === "invalid_union" && field === "network" ? NETWORK : issue?.message;
  return entryError(place, field, message ?? "cannot be read");
}
