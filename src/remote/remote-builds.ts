import { printableText } from "../files/printable.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { BuildLog, BuildName, Builds } from "../template/templates.ts";
import { buildLogSchema, buildSchema } from "../template/wire/build-schema.ts";
import type { TemplateOptions } from "../template/wire/template-schema.ts";
import { parseAnswer, toError } from "./server-answers.ts";
import { askServer, type ServerAddress } from "./server-connection.ts";

const WAIT_S = 20;

/** The builds of a server. */
export function createRemoteBuilds(address: ServerAddress): Builds {
  const pathOf = ({ name, id }: BuildName): string => `/v1/templates/${encodeURIComponent(name)}/builds/${encodeURIComponent(id)}`;
  return {
    async begin(_principal, options) {
      return parseAnswer(buildSchema, await askServer(address, { method: "POST", path: "/v1/templates/builds", body: options }));
    },
    async info(_principal, build) {
      return parseAnswer(buildSchema, await askServer(address, { method: "GET", path: pathOf(build) }));
    },
    async log(_principal, build, { offset, waitMs }, signal) {
      const path = `${pathOf(build)}/logs?offset=${offset}&wait=${Math.floor(waitMs / 1_000)}`;
      return parseAnswer(buildLogSchema, await askServer(address, { method: "GET", path, signal }));
    },
    async stop(_principal, build) {
      await askServer(address, { method: "DELETE", path: pathOf(build) });
    },
  };
}

export interface Followed {
  readonly principal: Principal;
  readonly options: TemplateOptions;
  readonly log: BuildLog;
  readonly signal: AbortSignal;
}

/** Makes a template and tells of it meanwhile. Rejects as the build does. Whoever stops following stops the build. */
export async function followBuild(builds: Builds, { principal, options, log, signal }: Followed): Promise<void> {
  const build = await builds.begin(principal, options);
  try {
    for (let offset = 0, isOver = false; !isOver;) {
      const page = await builds.log(principal, build, { offset, waitMs: WAIT_S * 1_000 }, signal);
      log(printableText(page.text));
      offset = page.nextOffset;
      isOver = page.text === "" && page.state !== "building";
    }
  } catch (cause) {
    if (signal.aborted) await builds.stop(principal, build);
    throw cause;
  }
  const { error } = await builds.info(principal, build);
  if (error) throw toError(error);
}
