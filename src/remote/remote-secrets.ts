import * as z from "zod";
import { dateField } from "../sandbox/wire/fields.ts";
import type { SecretVault } from "../secrets/secret-store.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

export const secretsAnswer = z.object({ secrets: z.array(z.object({ name: z.string(), changedAt: dateField })) });

/** The secrets of a server. It knows the caller by its token, so the owner that a method is given is not sent. */
export function createRemoteSecrets(address: ServerAddress): SecretVault {
  const pathOf = (name: string): string => `/v1/secrets/${encodeURIComponent(name)}`;
  return {
    async set(_owner, name, value) {
      await askServer(address, { method: "PUT", path: pathOf(name), body: { value } });
    },
    async list() {
      return parseAnswer(secretsAnswer, await askServer(address, { method: "GET", path: "/v1/secrets" })).secrets;
    },
    async remove(_owner, name) {
      await askServer(address, { method: "DELETE", path: pathOf(name) });
    },
  };
}
