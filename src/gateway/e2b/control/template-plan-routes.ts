import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { OpenTemplates } from "../../../template/templates-in-steps.ts";
import { changes } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import { teamOf } from "./team.ts";
import { assertTag, parseNewName, toBuildId, toDomainName } from "./template-names.ts";

const CHANGES = changes("toolset:template");
const MIB = 2 ** 20;
const TAGS_MAX = 32;

const planBody = z
  .object({
    name: z.string().min(1).max(200).optional().describe("NAME, NAME:TAG or TEAM/NAME:TAG"),
    alias: z.string().min(1).max(200).optional().describe("The same, as earlier clients say it"),
    tags: z.array(z.string().max(64)).max(TAGS_MAX).nullish(),
    cpuCount: z.number().int().positive().max(1_024).nullish(),
    memoryMB: z.number().int().positive().max(16_777_216).nullish(),
    minFreeDiskMb: z.number().int().nonnegative().max(16_777_216).nullish(),
  })
  .refine(({ name, alias }) => name !== undefined || alias !== undefined, "names no template");

const planned = z.object({
  templateID: z.string(),
  buildID: z.string(),
  public: z.boolean(),
  names: z.array(z.string()).readonly(),
  aliases: z.array(z.string()).readonly(),
  tags: z.array(z.string()).readonly(),
});

type PlanBody = z.output<typeof planBody>;

/** What begins a build: its files and steps come after. */
export function templatePlanRoutes(open: OpenTemplates): readonly Route[] {
  return [...["/v3/templates", "/v2/templates"].map((path) => planRoute(open, path)), ...oldRoutes()];
}

function planRoute(open: OpenTemplates, path: string): Route {
  return defineRoute({
    method: "POST",
    path,
    access: CHANGES,
    summary: "Plans a build of a template. It begins once its steps are there",
    body: planBody,
    answers: { 202: planned },
    async handle({ caller, body }) {
      const { name, tags } = toTags(body, caller);
      const [first, ...more] = tags.map((tag) => toDomainName({ name, tag }));
      if (first === undefined) throw new RangeError("a build has a tag");
      const { id } = await (await open()).planned.plan(caller, { names: [first, ...more], limits: toLimits(body) });
      return {
        templateID: name,
        buildID: toBuildId(id),
        public: false,
        names: [`${teamOf(caller).slug}/${name}`],
        aliases: [name],
        tags,
      };
    },
  });
}

/** The tag of the name and those that are said; without any, `default`. */
function toTags(
  { name: named, alias, tags: more }: PlanBody,
  caller: Principal,
): { readonly name: string; readonly tags: readonly string[] } {
  const { name, tag, hasTag } = parseNewName(named ?? alias ?? "", caller);
  const said = (more ?? []).map((one) => one.trim().toLowerCase());
  said.forEach(assertTag);
  return { name, tags: [...new Set([...(hasTag || said.length === 0 ? [tag] : []), ...said])] };
}

/** A sandbox gets so much room to write in. */
function toLimits({ cpuCount, memoryMB, minFreeDiskMb }: PlanBody) {
  return {
    ...(typeof cpuCount === "number" && { cpus: cpuCount }),
    ...(typeof memoryMB === "number" && { memoryBytes: memoryMB * MIB }),
    ...(typeof minFreeDiskMb === "number" && minFreeDiskMb > 0 && { diskBytes: minFreeDiskMb * MIB }),
  };
}

/** Builds of images that the client pushes into E2B's own registry. */
function oldRoutes(): readonly Route[] {
  return ["/templates", "/templates/:id"].map((path) =>
    defineRoute({
      method: "POST",
      path,
      access: CHANGES,
      summary: "Refused: clients before E2B's second build system push images to a registry of E2B's",
      answers: { 202: null },
      async handle() {
        throw new BelljarError(
          "NOT_SUPPORTED",
          "This server has no registry that images are pushed to: build by `Template.build` of the SDK, or by the CLI's `template create`",
        );
      },
    }),
  );
}
