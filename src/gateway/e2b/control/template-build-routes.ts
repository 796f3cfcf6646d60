import * as z from "zod";
import { policyWithin } from "../../../sandbox/grants.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { LogEntry } from "../../../template/builds/stamped-log.ts";
import type { PlannedBuild } from "../../../template/builds/planned-builds.ts";
import { FINAL_STEP } from "../../../template/making/from-dockerfile.ts";
import { noTemplate } from "../../../template/parse-options.ts";
import type { OpenTemplates, TemplatesInSteps } from "../../../template/templates-in-steps.ts";
import { changes, reads } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { type BuildBody, buildBody, toStart, toWork } from "./template-build-body.ts";
import { fromBuildId, fromDomainName, parseName, toBuildId } from "./template-names.ts";
import { buildParams, buildStatus } from "./template-schemas.ts";

const READS = reads("toolset:template");
const CHANGES = changes("toolset:template");
const ENTRIES_MAX = 100;
/** Of one answer with the logs of a time. */
const LOG_MAX = 100_000;

const level = z.enum(["debug", "info", "warn", "error"]);
const entrySchema = z.object({ timestamp: z.string(), level, message: z.string(), step: z.string().optional() });
const statusSchema = z.object({
  templateID: z.string(),
  buildID: z.string(),
  status: buildStatus,
  logs: z.array(z.string()).readonly().describe("Always empty: `logEntries` has them"),
  logEntries: z.array(entrySchema).readonly(),
  reason: z.object({ message: z.string(), step: z.string().optional() }).optional(),
});

const whole = z.coerce.number().int().nonnegative();
const statusQuery = z.object({
  logsOffset: whole.max(10_000_000).default(0).describe("How many entries were told before"),
  limit: whole.max(ENTRIES_MAX).default(ENTRIES_MAX),
  level: level.default("debug"),
});
const logsQuery = z.object({
  cursor: whole.optional().describe("Milliseconds since 1970"),
  limit: whole.max(ENTRIES_MAX).default(ENTRIES_MAX),
  direction: z.enum(["forward", "backward"]).default("forward"),
  level: level.default("debug"),
});

/** Begins what was planned, and tells what becomes of it. */
export function templateBuildRoutes({ settings }: Pick<E2b, "settings">, open: OpenTemplates): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v2/templates/:id/builds/:build",
      access: CHANGES,
      summary: "Begins a planned build. It goes on until it ends, whoever waits",
      params: buildParams,
      body: buildBody,
      answers: { 202: null },
      async handle({ caller, params, body }) {
        const templates = await open();
        const { id } = await findBuild(templates, caller, params);
        await begin(templates, caller, { id, body, network: await policyWithin(settings.network, caller) });
      },
    }),
    defineRoute({
      method: "GET",
      path: "/templates/:id/builds/:build/status",
      access: READS,
      summary: "What a build has come to, and the next entries of its log. There are no more if it has ended and none is told",
      params: buildParams,
      query: statusQuery,
      answers: { 200: statusSchema },
      async handle({ caller, params, query }) {
        const templates = await open();
        const build = await findBuild(templates, caller, params); // before the log, which is whole once the build has ended
        const range = { offset: query.logsOffset, limit: query.limit };
        const entries = isTold(query.level) ? await templates.planned.entries(caller, build.id, range) : [];
        return toStatus(build, params.id, entries);
      },
    }),
    logsRoute(open),
  ];
}

function logsRoute(open: OpenTemplates): Route {
  return defineRoute({
    method: "GET",
    path: "/templates/:id/builds/:build/logs",
    access: READS,
    summary: "What a build has said since a time, or before one",
    params: buildParams,
    query: logsQuery,
    answers: { 200: z.object({ logs: z.array(entrySchema).readonly() }) },
    async handle({ caller, params, query: { cursor, limit, direction, level: least } }) {
      const { planned } = await open();
      const { id } = await findBuild({ planned }, caller, params);
      const all = isTold(least) ? await planned.entries(caller, id, { offset: 0, limit: LOG_MAX }) : [];
      const isForward = direction === "forward";
      const within = all.filter(({ at }) => cursor === undefined || (isForward ? at.getTime() >= cursor : at.getTime() <= cursor));
      return { logs: (isForward ? within.slice(0, limit) : within.slice(-limit).toReversed()).map(toEntry) };
    },
  });
}

/** All entries are of this level. */
function isTold(least: z.output<typeof level>): boolean {
  return least === "debug" || least === "info";
}

/** Of that template. Somebody else's and none are the same answer. */
async function findBuild(
  { planned }: Pick<TemplatesInSteps, "planned">,
  caller: Principal,
  { id, build }: z.output<typeof buildParams>,
): Promise<PlannedBuild> {
  const { name } = parseName(id, caller);
  const found = await planned.info(caller, fromBuildId(build));
  if (found.names.some((full) => fromDomainName(full).name === name)) return found;
  throw noTemplate(id);
}

interface Beginning {
  readonly id: string;
  readonly body: BuildBody;
  readonly network: E2b["settings"]["network"];
}

async function begin(templates: TemplatesInSteps, caller: Principal, { id, body, network }: Beginning): Promise<void> {
  const work = await toWork(templates, caller, body);
  await templates.planned.begin(caller, id, { ...work, network, ...toStart(body) });
}

function toStatus(build: PlannedBuild, templateID: string, entries: readonly LogEntry[]): z.output<typeof statusSchema> {
  const { id, state, error, step } = build;
  return {
    templateID,
    buildID: toBuildId(id),
    status: state === "failed" ? "error" : state,
    logs: [],
    logEntries: entries.map(toEntry),
    ...(error && { reason: { message: error.message, step: toStep(step) } }),
  };
}

function toEntry({ at, step, text }: LogEntry): z.output<typeof entrySchema> {
  return { timestamp: at.toISOString(), level: "info", message: text, step: toStep(step) };
}

function toStep(step: number): string {
  if (step === FINAL_STEP) return "finalize";
  return step === 0 ? "base" : String(step);
}
