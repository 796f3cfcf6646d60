import type { Principal, Sandbox, SandboxInfo, Snapshots, TimeLine } from "../sandbox/sandbox.ts";
import { forksSchema } from "../sandbox/wire/fork-schema.ts";
import {
  changedPathsSchema,
  checkpointSchema,
  pointDiffSchema,
  rollbackSchema,
  snapshotSchema,
  snapshotsSchema,
  timeLineSchema,
} from "../sandbox/wire/state-schemas.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

/** The snapshots of a server. `toSandbox` gives the sandbox of the server that is so described. */
export function remoteSnapshots(address: ServerAddress, toSandbox: (info: SandboxInfo) => Sandbox): Snapshots {
  const pathOf = (id: string): string => `/v1/snapshots/${encodeURIComponent(id)}`;
  return {
    async create(_principal, sandbox, options, signal) {
      const path = `/v1/sandboxes/${encodeURIComponent(sandbox)}/snapshots`;
      return parseAnswer(snapshotSchema, await askServer(address, { method: "POST", path, body: options, signal }));
    },
    async list(_principal, { sandbox } = {}) {
      const query = sandbox === undefined ? "" : `?${new URLSearchParams({ sandbox }).toString()}`;
      return parseAnswer(snapshotsSchema, await askServer(address, { method: "GET", path: `/v1/snapshots${query}` })).snapshots;
    },
    async info(_principal, id) {
      return parseAnswer(snapshotSchema, await askServer(address, { method: "GET", path: pathOf(id) }));
    },
    async remove(_principal: Principal, id: string) {
      await askServer(address, { method: "DELETE", path: pathOf(id) });
    },
    async fork(_principal, from, options, signal) {
      const answer = await askServer(address, { method: "POST", path: "/v1/forks", body: { ...options, ...from }, signal });
      const { sandboxes, lost } = parseAnswer(forksSchema, answer);
      return Object.assign(sandboxes.map(toSandbox), { lost });
    },
  };
}

/** The time line of a server's sandbox; `path` is the sandbox's own, and `sandbox` gives it anew. */
export function remoteTimeLine(address: ServerAddress, path: string, sandbox: () => Sandbox): TimeLine {
  const post = (verb: string, body: unknown, signal: AbortSignal) =>
    askServer(address, { method: "POST", path: `${path}/${verb}`, body, signal });
  return {
    async list() {
      return parseAnswer(timeLineSchema, await askServer(address, { method: "GET", path: `${path}/checkpoints` }));
    },
    async checkpoint(options, signal) {
      return parseAnswer(checkpointSchema, await post("checkpoints", options, signal));
    },
    async rollback(to, signal) {
      return { ...parseAnswer(rollbackSchema, await post("rollback", { to }, signal)), sandbox: sandbox() };
    },
    async remove(checkpoint) {
      await askServer(address, { method: "DELETE", path: `${path}/checkpoints/${encodeURIComponent(checkpoint)}` });
    },
    async diff(points, signal) {
      return parseAnswer(pointDiffSchema, await post("diff", points, signal));
    },
    async undo(to, paths, signal) {
      return parseAnswer(changedPathsSchema, await post("undo", { to, paths }, signal));
    },
    async merge(from, paths, signal) {
      return parseAnswer(changedPathsSchema, await post("merge", { from: from.id, ...(paths && { paths }) }, signal));
    },
  };
}
