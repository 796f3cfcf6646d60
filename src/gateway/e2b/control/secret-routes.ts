import { createHash } from "node:crypto";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { NotedVault, SecretDetail } from "../../../secrets/secret-store.ts";
import { changes, reads } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { toUuid } from "./team.ts";

const READS = reads("secrets");
const CHANGES = changes("secrets");
const path = "/secrets/:secret";
const ENTRIES_MAX = 64;
const TEXT_MAX = 1_024;

const params = z.object({ secret: z.string().min(1).max(200).describe("Its id or its name") });
const metadata = z
  .record(z.string().min(1).max(TEXT_MAX), z.string().max(TEXT_MAX))
  .refine((texts) => Object.keys(texts).length <= ENTRIES_MAX, `has at most ${ENTRIES_MAX} entries`)
  .nullish();
const value = z.string().describe("The secret itself");
const pageQuery = z.object({ limit: z.coerce.number().int().min(1).max(100).default(100), nextToken: z.string().max(500).optional() });

const secretSchema = z.object({
  secretID: z.string(),
  name: z.string(),
  currentVersion: z.number(),
  metadata: z.record(z.string(), z.string()),
  createdAt: z.string(),
  updatedAt: z.string(),
});

/** The caller's own secrets. A value comes in and never goes out. */
export function secretRoutes({ secrets }: Pick<E2b, "secrets">): readonly Route[] {
  const vault = (): NotedVault => secrets ?? keepsNone();
  return [
    defineRoute({
      method: "POST",
      path: "/secrets",
      access: CHANGES,
      summary: "Stores a secret under a new name, which is written in small letters",
      body: z.object({ name: z.string().min(1).max(200), value, metadata }),
      answers: { 201: secretSchema },
      async handle({ caller, body }) {
        const noted = { value: body.value, isNew: true, metadata: body.metadata ?? {} };
        return toSecret(caller.id, await vault().note(caller.id, body.name.toLowerCase(), noted));
      },
    }),
    listRoute(vault),
    defineRoute({
      method: "GET",
      path,
      access: READS,
      summary: "All about a secret but its value",
      params,
      answers: { 200: secretSchema },
      handle: async ({ caller, params: { secret } }) => toSecret(caller.id, await find(vault(), caller.id, secret)),
    }),
    ...changingRoutes(vault),
  ];
}

function listRoute(vault: () => NotedVault): Route {
  return defineRoute({
    method: "GET",
    path: "/secrets",
    access: READS,
    summary: "The caller's secrets in pages, by name: `x-next-token` names the next one",
    query: pageQuery,
    answers: { 200: z.array(secretSchema).readonly() },
    async handle(asked) {
      const {
        caller,
        query: { limit, nextToken },
      } = asked;
      const after = nextToken === undefined ? "" : Buffer.from(nextToken, "base64url").toString();
      const rest = (await vault().details(caller.id)).filter(({ name }) => name > after).toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const page = rest.slice(0, limit);
      if (rest.length > limit) asked.setHeader("x-next-token", Buffer.from(page.at(-1)?.name ?? "").toString("base64url"));
      return page.map((one) => toSecret(caller.id, one));
    },
  });
}

function changingRoutes(vault: () => NotedVault): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      access: CHANGES,
      summary: "Gives a secret another value",
      params,
      body: z.object({ value, metadata }),
      answers: { 200: secretSchema },
      async handle({ caller, params: { secret }, body }) {
        const { name } = await find(vault(), caller.id, secret);
        const noted = { value: body.value, ...(body.metadata && { metadata: body.metadata }) };
        return toSecret(caller.id, await vault().note(caller.id, name, noted));
      },
    }),
    defineRoute({
      method: "DELETE",
      path,
      access: CHANGES,
      summary: "Forgets a secret with all that is known of it",
      params,
      answers: { 204: null },
      handle: async ({ caller, params: { secret } }) => vault().remove(caller.id, (await find(vault(), caller.id, secret)).name),
    }),
  ];
}

/** By its id or its name. Somebody else's and none are the same answer. */
async function find(vault: NotedVault, owner: string, text: string): Promise<SecretDetail> {
  const all = await vault.details(owner);
  const named = [text, text.toLowerCase()].map((name) => all.find((one) => one.name === name));
  const found = all.find((one) => idOf(owner, one) === text) ?? named.find((one) => one !== undefined);
  if (found) return found;
  throw new BelljarError("SECRET_NOT_FOUND", "You have no such secret");
}

/** As long as a secret has its name it has this id. */
function idOf(owner: string, { name, createdAt }: Pick<SecretDetail, "name" | "createdAt">): string {
  const hash = createHash("sha256").update(JSON.stringify([owner, name, createdAt]));
  return toUuid(BigInt(`0x${hash.digest("hex")}`));
}

function toSecret(owner: string, secret: SecretDetail): z.output<typeof secretSchema> {
  const { name, version, metadata: noted, createdAt, changedAt } = secret;
  return {
    secretID: idOf(owner, secret),
    name,
    currentVersion: version,
    metadata: noted,
    createdAt: createdAt.toISOString(),
    updatedAt: changedAt.toISOString(),
  };
}

function keepsNone(): never {
  throw new BelljarError("NOT_SUPPORTED", "This server keeps no secrets");
}
