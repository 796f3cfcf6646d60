import type { Templates } from "../template/templates.ts";
import { prunedSchema, templateSchema, templatesSchema } from "../template/wire/template-schema.ts";
import { createRemoteBuilds, followBuild } from "./remote-builds.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer, type ServerAddress } from "./server-connection.ts";

/** The templates of a server. */
export function createRemoteTemplates(address: ServerAddress): Templates {
  const pathOf = (name: string): string => `/v1/templates/${encodeURIComponent(name)}`;
  const builds = createRemoteBuilds(address);
  return {
    builds,
    async list() {
      return parseAnswer(templatesSchema, await askServer(address, { method: "GET", path: "/v1/templates" })).templates;
    },
    async info(_principal, name) {
      return parseAnswer(templateSchema, await askServer(address, { method: "GET", path: pathOf(name) }));
    },
    // eslint-disable-next-line max-params -- the contract's
    async make(principal, options, signal, log) {
      if (log) {
        await followBuild(builds, { principal, options, log, signal });
        return this.info(principal, options.name);
      }
      return parseAnswer(templateSchema, await askServer(address, { method: "POST", path: "/v1/templates", body: options, signal }));
    },
    async prune() {
      return parseAnswer(prunedSchema, await askServer(address, { method: "POST", path: "/v1/templates/prune" }));
    },
    async remove(_principal, name) {
      await askServer(address, { method: "DELETE", path: pathOf(name) });
    },
    async share(_principal, name, isShared) {
      return parseAnswer(templateSchema, await askServer(address, { method: "PUT", path: `${pathOf(name)}/shared`, body: { isShared } }));
    },
  };
}
