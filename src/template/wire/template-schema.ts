import * as z from "zod";
import { networkPolicySchema } from "../../sandbox/network-schema.ts";
import { type DeepReadonly, namedLimitsSchema } from "../../sandbox/wire/create-schema.ts";
import { dateField, limitsSchema } from "../../sandbox/wire/fields.ts";
import { startCommandSchema } from "../../sandbox/wire/start-command.ts";
import { secretsSchema, variablesSchema } from "../../sandbox/wire/texts-schema.ts";

const texts = z.record(z.string(), z.string());

/** What a template was made from. */
export const templateSourceSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("image"),
    from: z.string().min(1).describe("The reference, or the path of the layout or archive"),
    digest: z.string().min(1).describe("Of the image's manifest"),
    platform: z.string().min(1).describe("Such as linux/amd64"),
  }),
  z.object({ kind: z.literal("snapshot"), id: z.string().min(1) }),
  z.object({ kind: z.literal("debian"), suite: z.string().min(1), packages: z.array(z.string()).readonly() }),
  z.object({ kind: z.literal("folder"), path: z.string().min(1) }),
  z.object({ kind: z.literal("dockerfile"), from: z.string().min(1).describe("What its last stage begins with") }),
]);

/** A template of the home as every answer shows it. */
export const templateSchema = z.object({
  id: z
    .string()
    .regex(/^[a-z0-9]{20}$/)
    .describe("Of this build of it"),
  name: z.string().min(1),
  owner: z.string().min(1).describe("Id of the principal that it belongs to"),
  description: z.string().optional(),
  createdAt: dateField,
  source: templateSourceSchema,
  runtime: z.string().min(1),
  base: z.string().min(1).describe("The runtime's own template below it"),
  layers: z.number().int().nonnegative().describe("How many layers it has"),
  bytes: z.number().nonnegative().describe("Size of the files of its layers. Layers that templates share are counted in each"),
  env: texts.describe("Variables that commands have in addition to those of the base"),
  user: z.string().min(1).optional().describe("As which commands run that name nobody. Absent: as on the base"),
  cwd: z.string().min(1).optional().describe("Where commands start. Absent: in the home"),
  start: startCommandSchema.optional(),
  limits: limitsSchema.optional().describe("Of its sandboxes, where their maker names none"),
  command: z.array(z.string()).readonly().optional().describe("What the image would run: its entry point and command"),
  entrypoint: z
    .array(z.string())
    .readonly()
    .optional()
    .describe("The part of `command` that stays when an image is run with other arguments"),
  copyOf: z.string().min(1).optional().describe("Id of the template that it is another name of"),
  isShared: z.boolean().describe("Every caller may start sandboxes from it"),
});

/** What a caller may know of a template. */
export type TemplateDetail = Readonly<z.output<typeof templateSchema>>;

export const templatesSchema = z.object({ templates: z.array(templateSchema).readonly() });

/** What lies below templates: a template of such a name could not be started. */
const OWN_NAMES = ["base", "bare"];

const ALONE = ["context", "buildArgs", "target", "secrets"] as const;
const ALONE_TEXT = ALONE.join(", ");

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, "has 1 to 63 characters: a-z, 0-9, dot, dash and underscore, and begins with a letter or digit")
  .refine((text) => !/^[a-z0-9]{20}$/.test(text), "must not look like an id")
  .refine((text) => !OWN_NAMES.includes(text), "is one of Belljar's own");

const hostFolder = z.string().max(4_096).regex(/^\//, "must be an absolute path");

/** Texts become arguments of a program: none may look like an option, or hold more than one thing. */
const debianSchema = z.strictObject({
  suite: z
    .string()
    .regex(/^[a-z][a-z0-9.-]{0,40}$/, "is the name of a suite, such as trixie")
    .describe("Such as trixie, or one of a derivative that mmdebstrap knows"),
  packages: z
    .array(z.string().regex(/^[a-z0-9][a-z0-9+.:-]{1,100}$/, "is the name of a package"))
    .max(500)
    .optional()
    .describe("In addition to the required ones and apt"),
  mirror: z
    .string()
    .max(1_000)
    .regex(/^https?:\/\/[A-Za-z0-9][A-Za-z0-9._:/~-]*$/, "is the address of a mirror, such as https://deb.debian.org/debian")
    .optional()
    .describe("Default: the suite's own. The network policy must allow it"),
});

const SOURCES = ["image", "snapshot", "folder", "debian", "dockerfile"] as const;

/** What a template is to be made from. Exactly one of `SOURCES`. */
export const templateOptionsSchema = z
  .strictObject({
    name,
    description: z
      .string()
      .min(1)
      .max(1_000)
      .refine((text) => !/\p{Cc}/u.test(text), "must not hold control characters")
      .optional(),
    image: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe(
        "Image of a registry, such as alpine:3.20, or the absolute path of a folder with an OCI image layout or of an archive as `docker save` writes it, on the machine of the home",
      ),
    network: networkPolicySchema
      .optional()
      .describe("What may be reached for images of registries, and by the commands of a Dockerfile. Default: what new sandboxes may reach"),
    platform: z.string().min(1).max(64).optional().describe("Of an image that has several, such as linux/arm64. Default: this machine's"),
    start: startCommandSchema.optional().describe("What its sandboxes run from their start on. Default: as the snapshot's sandbox did"),
    limits: namedLimitsSchema.optional().describe("Of its sandboxes, where their maker names none. Default: the configuration's"),
    snapshot: z.string().min(1).max(64).optional().describe("Id or name of a snapshot"),
    dockerfile: z.string().min(1).max(262_144).optional().describe("The text of a Dockerfile, which is built"),
    folder: hostFolder
      .optional()
      .describe(
        "Folder of the machine of the home with what is to be the root folder. All files belong to root inside; no link out of it is followed",
      ),
    debian: debianSchema.optional().describe("A Debian suite, put together by `mmdebstrap` of the machine of the home"),
    context: hostFolder.optional().describe("Folder that COPY of a Dockerfile takes files from, on the machine of the home"),
    buildArgs: variablesSchema.optional().describe("Values of the variables that ARG names in a Dockerfile"),
    secrets: secretsSchema
      .optional()
      .describe("By their ids, for `RUN --mount=type=secret` of a Dockerfile: seen by that command alone, and kept nowhere"),
    target: z.string().min(1).max(128).optional().describe("The stage of a Dockerfile to build, by name or number. Default: the last one"),
  })
  .refine((options) => SOURCES.filter((one) => options[one] !== undefined).length === 1, `names one of ${SOURCES.join(", ")}`)
  .refine(
    ({ dockerfile, ...more }) => dockerfile !== undefined || ALONE.every((one) => more[one] === undefined),
    `has one of ${ALONE_TEXT}, which are of a Dockerfile alone`,
  );

export type DebianOptions = DeepReadonly<z.output<typeof debianSchema>>;

export type TemplateOptions = DeepReadonly<z.input<typeof templateOptionsSchema>>;

/** What `template prune` has removed. */
export const prunedSchema = z.object({
  steps: z.number().int().nonnegative().describe("How many kept steps of builds"),
  bytes: z.number().nonnegative().describe("Of the files that they had written. Other templates and sandboxes may still use some"),
});

export type PrunedSteps = Readonly<z.output<typeof prunedSchema>>;
