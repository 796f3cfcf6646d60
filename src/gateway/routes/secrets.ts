import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { secretsAnswer } from "../../remote/remote-secrets.ts";
import type { SecretVault } from "../../secrets/secret-store.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

const params = z.object({ name: z.string().max(64) });
const path = "/v1/secrets/:name";
const access = changes("secrets");

/** The caller's own secrets by name. A value comes in and never goes out. Without a vault, where no home is, every call says so. */
export function secretRoutes(secrets: SecretVault | undefined): readonly Route[] {
  const vault = (): SecretVault => secrets ?? keepsNone();
  return [
    defineRoute({
      method: "GET",
      path: "/v1/secrets",
      access: reads("secrets"),
      summary: "The names of the caller's secrets and when each was changed",
      answers: { 200: secretsAnswer },
      handle: async ({ caller }) => ({ secrets: await vault().list(caller.id) }),
    }),
    defineRoute({
      method: "PUT",
      path,
      access,
      summary: "Stores a secret of the caller's. No route gives a value back",
      params,
      body: z.strictObject({ value: z.string().describe("The secret itself") }),
      answers: { 204: null },
      handle: ({ caller, params: { name }, body: { value } }) => vault().set(caller.id, name, value),
    }),
    defineRoute({
      method: "DELETE",
      path,
      access,
      summary: "Forgets a secret of the caller's",
      params,
      answers: { 204: null },
      handle: ({ caller, params: { name } }) => vault().remove(caller.id, name),
    }),
  ];
}

function keepsNone(): never {
  throw new BelljarError("NOT_SUPPORTED", "This server keeps no secrets");
}
