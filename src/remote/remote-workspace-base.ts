import { workspaceBaseSchema, workspaceTextSchema } from "../sandbox/wire/answer-schemas.ts";
import type { BaseAnswer, WorkspaceBase } from "../sandbox/workspace/base/base-entry.ts";
import { parseAnswer } from "./server-answers.ts";
import type { ServerAddress } from "./server-connection.ts";
import { askServer } from "./server-connection.ts";

/** The server's limit for one question. */
const KEYS_AT_ONCE = 1000;

/** How a workspace began, from the server that made the sandbox. */
export function remoteWorkspaceBase(address: ServerAddress, path: string): WorkspaceBase {
  const ask = async (keys: readonly string[]): Promise<BaseAnswer> =>
    parseAnswer(workspaceBaseSchema, await askServer(address, { method: "POST", path: `${path}/workspace-base`, body: { keys } }));
  return {
    async workspaceBase(keys) {
      const first = await ask(keys.slice(0, KEYS_AT_ONCE));
      const entries = [...first.entries];
      for (let at = KEYS_AT_ONCE; at < keys.length; at += KEYS_AT_ONCE)
        entries.push(...(await ask(keys.slice(at, at + KEYS_AT_ONCE))).entries);
      return { ...first, entries };
    },
    async workspaceBaseText(key) {
      const answer = await askServer(address, { method: "POST", path: `${path}/workspace-base/text`, body: { key } });
      return parseAnswer(workspaceTextSchema, answer).text;
    },
  };
}
