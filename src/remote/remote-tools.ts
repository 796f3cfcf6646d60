import type { UnitLife } from "../dynamic/unit-life.ts";
import { testedSchema, unitDetailSchema, unitSchema, unitPageSchema } from "../dynamic/wire/unit-schema.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer, type ServerAddress, type ServerRequest } from "./server-connection.ts";

/** The users' tools of a server, which knows the caller by its token. */
export function createRemoteTools(address: ServerAddress): UnitLife {
  const pathOf = (name: string): string => `/v1/tools/${encodeURIComponent(name)}`;
  const at = (version: number | undefined): string => (version === undefined ? "" : `?version=${version}`);
  const unit = async (ask: ServerRequest) => parseAnswer(unitSchema, await askServer(address, ask));
  return {
    async list(_principal, { cursor, limit } = {}) {
      const query = new URLSearchParams();
      if (cursor !== undefined) query.append("cursor", cursor);
      if (limit !== undefined) query.append("limit", String(limit));
      return parseAnswer(unitPageSchema, await askServer(address, { method: "GET", path: `/v1/tools?${query.toString()}` }));
    },
    async get(_principal, name, number) {
      return parseAnswer(unitDetailSchema, await askServer(address, { method: "GET", path: `${pathOf(name)}${at(number)}` }));
    },
    // eslint-disable-next-line max-params -- the contract's
    add: (_principal, { name, spec }, signal, options) =>
      unit({ method: "POST", path: "/v1/tools", body: { ...spec, ...(name !== undefined && { name }), ...options }, signal }),
    // eslint-disable-next-line max-params -- the contract's
    update: (_principal, given, signal, options) => {
      const { name } = given;
      if ("spec" in given) return unit({ method: "PUT", path: pathOf(name), body: { ...given.spec, ...options }, signal });
      const { changes, resolvesAgain } = given;
      const body = { ...changes, ...(resolvesAgain && { resolvesAgain }), ...options };
      return unit({ method: "PATCH", path: pathOf(name), body, signal });
    },
    // eslint-disable-next-line max-params -- the contract's
    async test(_principal, name, signal, { number } = {}) {
      return parseAnswer(testedSchema, await askServer(address, { method: "POST", path: `${pathOf(name)}/test${at(number)}`, signal }));
    },
    // eslint-disable-next-line max-params -- the contract's
    publish: (_principal, name, signal, number) => unit({ method: "POST", path: `${pathOf(name)}/publish${at(number)}`, signal }),
    rollback: (_principal, name, number) => unit({ method: "POST", path: `${pathOf(name)}/versions/${number}/rollback` }),
    setDisabled: (_principal, name, isDisabled) => unit({ method: "PATCH", path: pathOf(name), body: { isDisabled } }),
    share: (_principal, name, isShared) => unit({ method: "PATCH", path: pathOf(name), body: { isShared } }),
    async remove(_principal, name) {
      await askServer(address, { method: "DELETE", path: pathOf(name) });
    },
  };
}
