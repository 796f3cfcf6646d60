import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Asked, Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { findSandbox, idParams, toSandboxId } from "./find-sandbox.ts";
import { limitField, tokenField } from "./list-query.ts";
import { cutPage } from "./page-token.ts";
import { CHANGES, READS } from "./scopes.ts";
import { namesOf, parseReference, snapshotIdOf, takeSnapshot } from "./snapshots.ts";
import { hasOwnTemplate } from "./own-template.ts";
import { isBase } from "./template-names.ts";

const snapshotSchema = z.object({ snapshotID: z.string(), names: z.array(z.string()) });

const listQuery = z.object({
  sandboxID: z.string().min(1).max(200).optional(),
  name: z.string().min(1).max(200).optional(),
  limit: limitField,
  nextToken: tokenField,
});

/** Snapshots, which are templates for E2B's clients: whoever deletes templates deletes them. */
export function snapshotRoutes(e2b: E2b): readonly Route[] {
  const { sandboxes } = e2b;
  return [
    defineRoute({
      method: "POST",
      path: "/sandboxes/:id/snapshots",
      access: CHANGES,
      summary: "Freezes what a sandbox has written. A snapshot of the same name is replaced",
      params: idParams,
      body: z.object({ name: z.string().min(1).max(200).nullish() }).nullish(),
      takes: { isOptional: true },
      answers: { 201: snapshotSchema },
      async handle(asked) {
        const { info } = await findSandbox(sandboxes, asked);
        const { name } = asked.body ?? {};
        if (typeof name === "string" && (isBase(name) || (await hasOwnTemplate(e2b, asked.caller, name)))) throw taken(name);
        const wish = { sandbox: info.id, name: asked.body?.name ?? undefined, signal: asked.signal };
        return toAnswer(await takeSnapshot(sandboxes, asked.caller, wish));
      },
    }),
    defineRoute({
      method: "GET",
      path: "/snapshots",
      access: READS,
      summary: "One page of the caller's snapshots, the newest first",
      query: listQuery,
      answers: { 200: z.array(snapshotSchema) },
      handle: (asked) => list(sandboxes, asked),
    }),
  ];
}

async function list({ snapshots }: E2b["sandboxes"], asked: Asked<unknown, z.output<typeof listQuery>>) {
  const { caller, query } = asked;
  const { sandboxID, name, limit, nextToken: token } = query;
  const sandbox = sandboxID === undefined ? undefined : toSandboxId(sandboxID);
  const all = await snapshots.list(caller, { sandbox });
  const named = name === undefined ? all : all.filter((one) => isNamed(one, name));
  const places = named.map((snapshot) => ({ at: snapshot.createdAt, id: snapshot.id, snapshot }));
  const { items, nextToken } = cutPage(places, { order: "desc", limit, token });
  if (nextToken !== undefined) asked.setHeader("x-next-token", nextToken);
  return items.map(({ snapshot }) => toAnswer(snapshot));
}

/** Whoever names it in a create would get the template. */
function taken(name: string): BelljarError {
  const shown = JSON.stringify(name.slice(0, 100));
  return new BelljarError("TEMPLATE_NAME_TAKEN", `A snapshot cannot be called ${shown}, as a template is: choose another name`);
}

type Snapshot = Parameters<typeof snapshotIdOf>[0];

/** With a tag that one, without the snapshots of any tag. */
function isNamed(snapshot: Snapshot, text: string): boolean {
  if (text.includes(":")) return snapshotIdOf(snapshot) === text;
  const reference = parseReference(text);
  return reference !== undefined && (namesOf(snapshot).includes(reference) || snapshot.id === reference);
}

function toAnswer(snapshot: Snapshot): z.output<typeof snapshotSchema> {
  return { snapshotID: snapshotIdOf(snapshot), names: namesOf(snapshot) };
}
